package driver

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Nonce identifies one acquisition. It is 128 random bits, and does not identify a host, a process or a thread.
type Nonce [16]byte

// NewNonce draws a nonce from the system's random source. It has the form of a version 4 UUID (RFC 9562,
// section 5.4), so a store can keep it in a column of type uuid.
func NewNonce() Nonce {
	var n Nonce
	_, _ = rand.Read(n[:]) // crypto/rand.Read never fails: it crashes the program instead
	n[6] = n[6]&0x0f | 0x40
	n[8] = n[8]&0x3f | 0x80
	return n
}

// EpochNonce returns the nonce that all shares with the given epoch token have in common: 8 zero bytes, and then the
// token in big-endian order. A fence compares nonces, so it treats all readers of one epoch as the same holder. The
// store may keep this nonce as the nonce of the key while the key is shared. The nonce differs from every [NewNonce],
// because its version is 0.
func EpochNonce(token Token) (n Nonce) {
	binary.BigEndian.PutUint64(n[8:], uint64(token)) //nolint:gosec // a token is never negative
	return n
}

// String returns the nonce as a UUID in lower case with dashes.
func (n Nonce) String() string {
	var b [36]byte
	hex.Encode(b[0:8], n[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], n[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], n[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], n[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], n[10:16])
	return string(b[:])
}

// ParseNonce parses the result of [Nonce.String].
func ParseNonce(s string) (Nonce, error) {
	var n Nonce
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return n, fmt.Errorf("nonce %q is not of the form 8-4-4-4-12", s)
	}
	digits := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if _, err := hex.Decode(n[:], []byte(digits)); err != nil {
		return Nonce{}, fmt.Errorf("nonce %q: %w", s, err)
	}
	return n, nil
}
