package cli

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

const (
	flagBackup         = "backup"
	flagBackupEndpoint = "backup-endpoint"
	flagBackupEvery    = "backup-every"
	flagRestore        = "restore"
	// fileBackups is what the keys of a wallet's backups are made of.
	fileBackups = "backup.key"
	// tagBackupKey keeps these keys apart from all others.
	tagBackupKey = "gantry-backup-1"
	// bucketTime is how long a bucket may take to answer before an order.
	bucketTime = time.Minute
)

func backupFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagBackup, Usage: "keep encrypted snapshots of the --volume in `s3://BUCKET/FOLDER`, at the job's end. The machine gets the credentials of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of ~/.aws/credentials. Use credentials that open only this folder"},
		backupEndpointFlag(),
		&cli.DurationFlag{Name: flagBackupEvery, Usage: "also a snapshot every `TIME`, for which the job is frozen, at least 1m"},
		&cli.StringFlag{Name: flagRestore, Usage: "begin with the snapshot `HASH` of the --backup: a volume, or a container that gantry suspend has kept, which goes on with its memory and processes"},
	}
}

func backupEndpointFlag() cli.Flag {
	return &cli.StringFlag{Name: flagBackupEndpoint, Usage: "`URL` of the S3 server, if it is not Amazon's", EnvVars: []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}}
}

// backup reads where snapshots of a job's volume go, and tries the bucket. What it returns has neither key nor credentials.
// saved is the suspended container with which the job goes on; nil for none.
func (s *session) backup() (b *messages.Backup, saved *snapshot.Container, err error) {
	if b, err = s.backupFlags(); b == nil || err != nil {
		return nil, nil, err
	}
	whole, err := s.withBackupSecrets(b)
	if err != nil {
		return nil, nil, err
	}
	bucket, err := snapshot.Open(*whole, nil)
	if err != nil {
		return nil, nil, usage("--backup: "+err.Error(), "")
	}
	ctx, cancel := context.WithTimeout(s.ctx, bucketTime)
	defer cancel()
	from := snapshot.Hash(b.From)
	if err := bucket.Check(ctx, from); err != nil {
		return nil, nil, refused(fmt.Sprintf("--backup: %v", err), "nothing was bought; check bucket, folder, endpoint, credentials and AWS_REGION")
	}
	if from == (snapshot.Hash{}) {
		return b, nil, nil
	}
	found, err := bucket.Find(ctx, from)
	if err != nil {
		return nil, nil, refused(fmt.Sprintf("--restore: %v", err), "nothing was bought; the key is that of the wallet that made the snapshot, on the machine where it was made")
	}
	return b, found.Container(), nil
}

// backupFlags reads the flags alone.
func (s *session) backupFlags() (*messages.Backup, error) {
	if !s.cli.IsSet(flagBackup) {
		if s.cli.IsSet(flagBackupEvery) || s.cli.IsSet(flagRestore) {
			return nil, usage("--backup-every and --restore are for volumes with a backup", "say where it is: --backup s3://BUCKET/FOLDER")
		}
		return nil, nil
	}
	if !s.cli.IsSet(flagVolume) && !s.cli.IsSet(flagRestore) {
		return nil, usage("--backup is for volumes", "name one, such as --volume data:50GiB")
	}
	b, err := s.bucketFolder(s.cli.String(flagBackup))
	if err != nil {
		return nil, err
	}
	every := s.cli.Duration(flagBackupEvery)
	if every < 0 || every%time.Second != 0 || every > 365*24*time.Hour {
		return nil, usage(fmt.Sprintf("--backup-every is %v", every), "give whole seconds, at least a minute")
	}
	b.Every = uint32(every / time.Second)
	if text := s.cli.String(flagRestore); text != "" {
		if n, err := hex.Decode(b.From[:], []byte(text)); err != nil || n != len(b.From) {
			return nil, usage(fmt.Sprintf("--restore %q is not the hash of a snapshot", text), "give the 64 digits that deploy has printed, or that the lease's history has: gantry audit LEASE")
		}
	}
	return b, nil
}

// bucketFolder reads the folder of a bucket.
func (s *session) bucketFolder(text string) (*messages.Backup, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" {
		return nil, usage(fmt.Sprintf("%q is no folder of a bucket", text), "write it as s3://BUCKET/FOLDER")
	}
	b := &messages.Backup{
		Endpoint: strings.TrimRight(s.cli.String(flagBackupEndpoint), "/"), Region: os.Getenv("AWS_REGION"), Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"),
	}
	if b.Endpoint == "" {
		b.Endpoint = "https://s3.amazonaws.com"
	}
	return b, nil
}

// withBackupSecrets is a backup with its key and the bucket's credentials, which are stored nowhere of gantry's.
func (s *session) withBackupSecrets(b *messages.Backup) (*messages.Backup, error) {
	if b == nil {
		return nil, nil
	}
	secret, err := s.backupSecret()
	if err != nil {
		return nil, err
	}
	out := *b
	if out.Key, err = hkdf.Key(sha256.New, secret, []byte(b.Bucket+"/"+b.Prefix), tagBackupKey, messages.BackupKeyBytes); err != nil {
		return nil, fmt.Errorf("key of the backup: %w", err)
	}
	value, err := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}).GetWithContext(nil)
	if err != nil || value.AccessKeyID == "" {
		return nil, refused("there are no credentials for the bucket", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials")
	}
	out.AccessKey, out.SecretKey, out.Token = value.AccessKeyID, value.SecretAccessKey, value.SessionToken
	return &out, nil
}

// backupSecret is what the keys of the wallet's backups are made of; the first command that needs it makes it. Without it no
// snapshot can be read.
func (s *session) backupSecret() ([]byte, error) {
	f, err := s.folder()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.Dir(), fileBackups)
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		raw = make([]byte, volumeSecretBytes)
		if _, err := rand.Read(raw); err != nil {
			return nil, fmt.Errorf("random number: %w", err)
		}
		if err := atomicfile.Write(path, raw); err != nil {
			return nil, fmt.Errorf("key of the backups: %w", err)
		}
		s.say(" · backups  are encrypted with a key made of %s: keep a copy, without it nothing can be restored", path)
		return raw, nil
	case err != nil:
		return nil, fmt.Errorf("key of the backups: %w", err)
	case len(raw) != volumeSecretBytes:
		return nil, refused(fmt.Sprintf("%s has %d bytes, not %d", path, len(raw), volumeSecretBytes), "put its copy back")
	}
	return raw, nil
}
