package driver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
)

func TestKeyForPeople(t *testing.T) {
	assert.Equal(t, "nightly", driver.Key{Name: "nightly"}.String())
	assert.Equal(t, "jobs/nightly", driver.Key{Namespace: "jobs", Name: "nightly"}.String())
}
