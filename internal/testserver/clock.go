package testserver

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"
)

//go:embed scripts/clock.c
var clockSource []byte

func (f *folder) clock() string { return filepath.Join(f.path, "clock") }

// prepareClock makes the library and the file by which a server's wall clock is shifted.
func prepareClock(ctx context.Context, f *folder) error {
	if err := os.WriteFile(f.clock(), make([]byte, 8), 0o644); err != nil {
		return err
	}
	library, err := clockLibrary()
	if err != nil {
		return err
	}
	if _, err := os.Stat(library); err == nil {
		return nil
	}
	return alone("clock", func(cache string) error {
		source := filepath.Join(cache, "clock.c")
		if err := os.WriteFile(source, clockSource, 0o644); err != nil {
			return err
		}
		// Under another name first: what is there is whole.
		if err := runQuietly(ctx, "cc", "-shared", "-fPIC", "-O1", "-o", library+".new", source); err != nil {
			return &missing{"C compiler", "install it (Debian: apt-get install gcc libc6-dev)", err}
		}
		return os.Rename(library+".new", library)
	})
}

// clockLibrary is kept in the cache: a folder of a server may be on a file system that nothing is run from.
func clockLibrary() (string, error) {
	cache, err := cacheFolder()
	sum := sha256.Sum256(clockSource)
	return filepath.Join(cache, "clock-"+hex.EncodeToString(sum[:4])+".so"), err
}

func clockEnvironment(f *folder) []string {
	library, _ := clockLibrary() // it was there when the folder was prepared
	return []string{"LD_PRELOAD=" + library, "ROWLOCK_CLOCK=" + f.clock()}
}

// SetClock shifts the wall clock of a server that was started with Options.Clock, from its own, by d: forward, or back
// when d is negative. The shift outlives a restart.
func (s *Server) SetClock(d time.Duration) error {
	file, err := os.OpenFile(s.folder.clock(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(d.Microseconds())), 0)
	return err
}
