package buy

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

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

const (
	// fileBackups is what the keys of a wallet's backups are made of.
	fileBackups = "backup.key"
	// tagBackupKey keeps these keys apart from all others.
	tagBackupKey = "gantry-backup-1"
	// bucketTime is how long a bucket may take to answer before an order.
	bucketTime = time.Minute
)

// backup resolves where snapshots of a job's volume go, and tries the bucket. What it returns has neither key nor
// credentials. saved is the suspended container with which the job continues; nil for none.
func (b *Buyer) backup(ctx context.Context, r *Request, t *terms) (to *messages.Backup, saved *snapshot.Container, err error) {
	if r.Keep && r.Backup == "" {
		return nil, nil, noBucket()
	}
	if to, err = r.bucket(); to == nil || err != nil {
		return nil, nil, err
	}
	f := b.folder
	if r.Keep {
		t.keptIn, t.given = to.Prefix, to.From
		if to, err = b.keep(ctx, r, to); err != nil {
			return nil, nil, err
		}
		if f, err = b.folderOf(ctx, b.customer); err != nil {
			return nil, nil, err
		}
	}
	whole, err := b.withSecrets(to, f)
	if err != nil {
		return nil, nil, err
	}
	if err := messages.Check(whole); err != nil {
		return nil, nil, usage(fmt.Sprintf("--backup: it is longer than machines read: %v", err), "use credentials with a shorter token, or a shorter folder")
	}
	bucket, err := snapshot.Open(*whole, nil)
	if err != nil {
		return nil, nil, usage("--backup: "+err.Error(), "")
	}
	ctx, cancel := context.WithTimeout(ctx, bucketTime)
	defer cancel()
	from := snapshot.Hash(to.From)
	if err := bucket.Check(ctx, from); err != nil {
		return nil, nil, refused(fmt.Sprintf("--backup: %v", err), "nothing was bought; check bucket, folder, endpoint, credentials and AWS_REGION")
	}
	if from == (snapshot.Hash{}) {
		return to, nil, nil
	}
	found, err := bucket.Find(ctx, from)
	if err != nil {
		return nil, nil, refused(fmt.Sprintf("--restore: %v", err), "nothing was bought; the key is that of the wallet that made the snapshot, on the machine where it was made")
	}
	return to, found.Container(), nil
}

// checkBackup checks what the request says of snapshots.
func (r *Request) checkBackup() error {
	_, err := r.bucket()
	return err
}

// bucket is where snapshots of the job's volume go; nil for none.
func (r *Request) bucket() (*messages.Backup, error) {
	if r.Backup == "" {
		if r.Keep {
			return nil, nil
		}
		if r.BackupEvery != 0 || r.Restore != "" {
			return nil, usage("--backup-every and --restore are for volumes with a backup", "say where it is: --backup s3://BUCKET/FOLDER")
		}
		return nil, nil
	}
	if r.Volume == "" && (r.Restore == "" || r.Keep) {
		return nil, usage("--backup is for volumes", "name one, such as --volume data:50GiB")
	}
	b, err := BucketFolder(r.Backup, r.BackupEndpoint)
	if err != nil {
		return nil, err
	}
	if r.BackupEvery < 0 || r.BackupEvery%time.Second != 0 || r.BackupEvery > 365*24*time.Hour {
		return nil, usage(fmt.Sprintf("--backup-every is %v", r.BackupEvery), "give whole seconds, at least a minute")
	}
	b.Every = uint32(r.BackupEvery / time.Second)
	if r.Restore != "" {
		if n, err := hex.Decode(b.From[:], []byte(r.Restore)); err != nil || n != len(b.From) {
			return nil, usage(fmt.Sprintf("--restore %q is not the hash of a snapshot", r.Restore), "give the 64 digits that deploy has printed, or that the lease's history has: gantry audit LEASE")
		}
	}
	return b, nil
}

// BucketFolder is a folder of a bucket, s3://BUCKET/FOLDER, on Amazon's server or the one of an URL. Its region is
// that of AWS_REGION.
func BucketFolder(text, endpoint string) (*messages.Backup, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" {
		return nil, usage(fmt.Sprintf("%q is not a folder of a bucket", text), "write it as s3://BUCKET/FOLDER")
	}
	b := &messages.Backup{Endpoint: strings.TrimRight(endpoint, "/"), Region: os.Getenv("AWS_REGION"), Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	if b.Endpoint == "" {
		b.Endpoint = "https://s3.amazonaws.com"
	}
	return b, nil
}

// WithBackupSecrets is a backup with its key and the bucket's credentials, which are stored nowhere of gantry's.
func (b *Buyer) WithBackupSecrets(to *messages.Backup) (*messages.Backup, error) {
	if to == nil {
		return nil, nil
	}
	return b.withSecrets(to, b.folder)
}

// withSecrets is WithBackupSecrets with the key of a folder: that of the signer, and for volumes that are kept that of the customer.
func (b *Buyer) withSecrets(to *messages.Backup, f *purchase.Folder) (*messages.Backup, error) {
	secret, err := b.backupSecret(f)
	if err != nil {
		return nil, err
	}
	out := *to
	if out.Key, err = hkdf.Key(sha256.New, secret, []byte(to.Bucket+"/"+to.Prefix), tagBackupKey, messages.BackupKeyBytes); err != nil {
		return nil, fmt.Errorf("key of the backup: %w", err)
	}
	value, err := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}).GetWithContext(nil)
	if err != nil || value.AccessKeyID == "" {
		return nil, refused("there are no credentials for the bucket", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials")
	}
	out.AccessKey, out.SecretKey, out.Token = value.AccessKeyID, value.SecretAccessKey, value.SessionToken
	return &out, nil
}

// BackupKeyFile is the file of what the keys of backups of a folder's wallet are made of.
func BackupKeyFile(f *purchase.Folder) string { return filepath.Join(f.Dir(), fileBackups) }

// backupSecret is what the keys of a wallet's backups are made of; the first command that needs it makes it. Without
// it no snapshot can be read.
func (b *Buyer) backupSecret(f *purchase.Folder) ([]byte, error) {
	path := BackupKeyFile(f)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := b.makeBackupSecret(path); err != nil {
			return nil, fmt.Errorf("key of the backups: %w", err)
		}
		raw, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("key of the backups: %w", err)
	case len(raw) != volumeSecretBytes:
		return nil, refused(fmt.Sprintf("%s has %d bytes, not %d", path, len(raw), volumeSecretBytes), "put its copy back")
	}
	return raw, nil
}

// makeBackupSecret makes the file with the secret, unless another command has made it meanwhile.
func (b *Buyer) makeBackupSecret(path string) error {
	raw := make([]byte, volumeSecretBytes)
	if _, err := rand.Read(raw); err != nil {
		return fmt.Errorf("random number: %w", err)
	}
	err := atomicfile.Create(path, raw)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		b.tell(BackupKeyMade{Path: path})
	}
	return err
}
