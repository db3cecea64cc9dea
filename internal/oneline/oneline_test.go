package oneline_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// The text of a joined error has one line, and errors.Is and errors.As find its parts.
func TestErrorsAreOneLine(t *testing.T) {
	several := errors.New("failed to connect:\r\n\t127.0.0.1:1: refused\n\n\t[::1]:1: refused\n")
	joined := oneline.Join(nil, several, &driver.Held{Holder: "job"}, errors.Join(io.EOF, driver.Permanent(context.Canceled)))
	require.EqualError(t, joined, `failed to connect: 127.0.0.1:1: refused; [::1]:1: refused; held: holder "job"; EOF; context canceled`)
	var held *driver.Held
	for _, err := range []error{several, io.EOF, context.Canceled} {
		require.ErrorIs(t, joined, err)
	}
	require.ErrorAs(t, joined, &held)
	assert.True(t, driver.IsPermanent(joined))

	twice := errors.New("failed to connect:\n\t127.0.0.1:1: refused\n\t127.0.0.1:1: refused")
	require.Equal(t, "failed to connect: 127.0.0.1:1: refused", oneline.Text(twice), "tried with TLS and without")

	wrapped := oneline.Error(several)
	require.EqualError(t, wrapped, "failed to connect: 127.0.0.1:1: refused; [::1]:1: refused")
	require.ErrorIs(t, wrapped, several)
	assert.True(t, oneline.Error(io.EOF) == io.EOF, "an error of one line is not wrapped") //nolint:errorlint // the identity is the point
	assert.True(t, oneline.Join(nil, io.EOF) == io.EOF)                                    //nolint:errorlint // the identity is the point
	list := []error{nil, io.EOF, context.Canceled}
	joined = oneline.Join(list...)
	require.Equal(t, []error{nil, io.EOF, context.Canceled}, list, "Join does not change the caller's list")
	list[1], list[2] = nil, nil
	require.EqualError(t, joined, "EOF; context canceled")
	assert.NoError(t, oneline.Join(nil, nil))
	assert.NoError(t, oneline.Join())
	assert.NoError(t, oneline.Error(nil))
}

// The library and the command do not use errors.Join, whose text has a line for each error.
func TestNoPackageUsesErrorsJoin(t *testing.T) {
	const root = "../.."
	tools := []string{"bench", "compat_test", "examples", "internal/docs", "internal/inprocess", "internal/mutants", "internal/testserver", "internal/tools"}
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, tool := range append(tools, "internal/oneline") {
			if entry.IsDir() && filepath.ToSlash(inside) == tool {
				return filepath.SkipDir
			}
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		assert.NotContains(t, string(text), "errors.Join(", "%s: use oneline.Join", inside)
		return nil
	}))
	assert.Greater(t, files, 300, "the files of the library")
}
