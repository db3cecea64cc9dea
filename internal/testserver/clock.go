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

// prepareClock creates the library and the file that shift a server's wall clock.
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
	return os.WriteFile(f.clockLibrary(), text, 0o755) // copies the library, because the server's account may be unable to read the cache
}

func buildClock(ctx context.Context, cache, library string) error {
	source := filepath.Join(cache, "clock.c")
	if err := os.WriteFile(source, clockSource, 0o644); err != nil {
		return err
	}
	// The library is written under another name first, so that an existing library is always complete.
	if err := runQuietly(ctx, "cc", "-shared", "-fPIC", "-O1", "-o", library+".new", source, "-ldl"); err != nil {
		return &missing{"C compiler", "install it (Debian: apt-get install gcc libc6-dev)", err}
	}
	return os.Rename(library+".new", library)
}

// clockLibrary returns the path of the library in the cache folder.
func clockLibrary() (string, error) {
	cache, err := cacheFolder()
	sum := sha256.Sum256(clockSource)
	return filepath.Join(cache, "clock-"+hex.EncodeToString(sum[:4])+".so"), err
}

// clockOf returns the additional environment variables of a server whose clock is shifted.
func clockOf(f *folder, o Options) []string {
	if !o.Clock {
		return nil
	}
	return []string{"LD_PRELOAD=" + f.clockLibrary(), "ROWLOCK_CLOCK=" + f.clock()}
}

// SetClock sets the wall clock of a server that was started with Options.Clock to the machine's time plus d.
// A negative d sets the clock back. A restart of the server keeps this shift.
func (s *Server) SetClock(d time.Duration) error {
	file, err := os.OpenFile(s.folder.clock(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(d.Microseconds())), 0)
	return err
}
