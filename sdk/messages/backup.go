package messages

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// ErrBackup: a backup cannot be as it is described.
var ErrBackup = errors.New("this is not a backup")

const (
	// BackupKeyBytes is how long the key of a backup is.
	BackupKeyBytes = 32
	// MinBackupSecs is the shortest time between two snapshots: each is a transaction of the machine's.
	MinBackupSecs = 60
)

// Backup is where snapshots of a volume go, what opens the bucket, and what encrypts them. It is no part of the job, whose
// digest is on chain; the machine keeps it in memory alone.
type Backup struct {
	Endpoint  string `cbor:"1,keyasint" json:"endpoint" max:"1024"` // URL of an S3 server
	Region    string `cbor:"2,keyasint,omitempty" json:"region" max:"64"`
	Bucket    string `cbor:"3,keyasint" json:"bucket" max:"255"`
	Prefix    string `cbor:"4,keyasint" json:"prefix" max:"512"`
	AccessKey string `cbor:"5,keyasint" json:"access_key" max:"256"`
	SecretKey string `cbor:"6,keyasint" json:"secret_key" max:"512"`
	Token     string `cbor:"7,keyasint,omitempty" json:"token" max:"8192"`
	Key       []byte `cbor:"8,keyasint" json:"key" max:"32"`
	// Every is the time between two snapshots, seconds; 0 for one at the end alone.
	Every uint32 `cbor:"9,keyasint,omitempty" json:"every"`
	// From is the hash of the snapshot that the volume begins with; zero for an empty one. A lease that was moved begins
	// with the last that its chain account names.
	From [32]byte `cbor:"10,keyasint,omitempty" json:"from"`
}

// String keeps credentials out of logs.
func (Backup) String() string { return "(backup)" }

// GoString keeps them out of others.
func (Backup) GoString() string { return "(backup)" }

// Validate says what of a backup cannot be. Error: ErrBackup.
func (b Backup) Validate() error {
	u, err := url.Parse(b.Endpoint)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil:
		return fmt.Errorf("%w: its endpoint is %q; give the URL of an S3 server, such as https://s3.eu-west-1.amazonaws.com", ErrBackup, b.Endpoint)
	case b.Bucket == "" || strings.ContainsAny(b.Bucket, "/\\") || strings.ContainsFunc(b.Bucket+b.Prefix, notPrintable):
		return fmt.Errorf("%w: its bucket is %q", ErrBackup, b.Bucket)
	case b.Prefix == "" || path.Clean(b.Prefix) != b.Prefix || strings.HasPrefix(b.Prefix, "/") || strings.HasPrefix(b.Prefix, ".."):
		return fmt.Errorf("%w: its prefix is %q; give a folder of the bucket for it alone, such as s3://bucket/training", ErrBackup, b.Prefix)
	case b.AccessKey == "" || b.SecretKey == "":
		return fmt.Errorf("%w: there are no credentials of the bucket", ErrBackup)
	case len(b.Key) != BackupKeyBytes:
		return fmt.Errorf("%w: its key has %d bytes, not %d", ErrBackup, len(b.Key), BackupKeyBytes)
	case b.Every != 0 && b.Every < MinBackupSecs:
		return fmt.Errorf("%w: a snapshot every %d seconds; give at least %d", ErrBackup, b.Every, MinBackupSecs)
	}
	return nil
}
