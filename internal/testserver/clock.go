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

func (f *folder) clock() string        { return filepath.Join(f.path, "clock") }
func (f *folder) clockLibrary() string { return filepath.Join(f.path, "clock.so") }

// prepareClock makes the library and the file by which a server's wall clock is shifted.
func prepareClock(ctx context.Context, f *folder) error {
	if err := os.WriteFile(f.clock(), make([]byte, 8), 0o644); err != nil {
		return err
	}
	library, err := clockLibrary()
	if err != nil {
		return err
	}
	if _, err := os.Stat(library); err != nil {
		if err := alone("clock", func(cache string) error { return buildClock(ctx, cache, library) }); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(library)
	if err != nil {
		return err
	}
	return os.WriteFile(f.clockLibrary(), text, 0o755) // the server's account may not be let into the cache
}

func buildClock(ctx context.Context, cache, library string) error {
	source := filepath.Join(cache, "clock.c")
	if err := os.WriteFile(source, clockSource, 0o644); err != nil {
		return err
	}
	// Under another name first: what is there is whole.
	if err := runQuietly(ctx, "cc", "-shared", "-fPIC", "-O1", "-o", library+".new", source, "-ldl"); err != nil {
		return &missing{"C compiler", "install it (Debian: apt-get install gcc libc6-dev)", err}
	}
	return os.Rename(library+".new", library)
}

// clockLibrary is where the library is kept from one run to the next.
func clockLibrary() (string, error) {
	cache, err := cacheFolder()
	sum := sha256.Sum256(clockSource)
	return filepath.Join(cache, "clock-"+hex.EncodeToString(sum[:4])+".so"), err
}

// clockOf is what a server finds in its environment besides that of all.
func clockOf(f *folder, o Options) []string {
	if !o.Clock {
		return nil
	}
	return []string{"LD_PRELOAD=" + f.clockLibrary(), "ROWLOCK_CLOCK=" + f.clock()}
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
