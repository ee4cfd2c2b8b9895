package snapshot

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/gantry-market/gantry/sdk/messages"
)

var (
	// ErrBucket: the bucket does not answer as it should.
	ErrBucket = errors.New("the bucket cannot be used")
	// ErrDamaged: what is in the bucket is not what was put there with this key.
	ErrDamaged = errors.New("the snapshot is damaged, or of another key")
	// ErrFolder: a folder has what no snapshot can.
	ErrFolder = errors.New("the folder cannot be kept")
)

// Away reports whether an error is of a bucket whose server did not answer, which may pass; what it has refused stays refused.
func Away(err error) bool {
	var answered minio.ErrorResponse
	return errors.Is(err, ErrBucket) && (!errors.As(err, &answered) || answered.StatusCode >= http.StatusInternalServerError)
}

const (
	chunkBytes  = 4 << 20
	maxManifest = 256 << 20
	tagKeys     = "gantry-snapshot-1"
)

// Hash names a snapshot: the sha256 of its manifest.
type Hash [32]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Bucket is where snapshots of one backup are. It is not safe for use by several goroutines.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string
	names  []byte // key of the HMAC
	aead   cipher.AEAD

	writer string            // what its own mark is called
	lease  string            // for which it writes; empty where nobody says
	day    string            // below which the Save at work puts chunks
	have   map[string]string // where chunks are, by their names: those of base, and what the Save at work sends
	// What the last finished snapshot has seen, or the one that was restored: only that is sure to stay in the bucket.
	base  map[string]string
	known map[string]seen
	last  Hash
	same  [32]byte // of what the last snapshot has
}

// Open prepares the use of a backup, and asks the bucket nothing. A nil transport is that of package http.
func Open(b messages.Backup, transport http.RoundTripper) (*Bucket, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	u, err := url.Parse(b.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", messages.ErrBackup, err)
	}
	keys, err := hkdf.Key(sha256.New, b.Key, nil, tagKeys, 64)
	if err != nil {
		return nil, fmt.Errorf("keys of the backup: %w", err)
	}
	aead, err := chacha20poly1305.NewX(keys[:32])
	if err != nil {
		return nil, fmt.Errorf("keys of the backup: %w", err)
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.NewStaticV4(b.AccessKey, b.SecretKey, b.Token), Secure: u.Scheme == "https", Region: b.Region, Transport: transport,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", messages.ErrBackup, err)
	}
	return &Bucket{client: client, bucket: b.Bucket, prefix: b.Prefix, names: keys[32:], aead: aead, writer: rand.Text(), known: map[string]seen{}}, nil
}

// Check writes a small object, and looks whether the snapshot to begin with is there; zero is none. Error: ErrBucket.
func (b *Bucket) Check(ctx context.Context, from Hash) error {
	if _, err := b.now(ctx); err != nil {
		return err
	}
	if from == (Hash{}) {
		return nil
	}
	if _, err := b.client.StatObject(ctx, b.bucket, path.Join(b.prefix, "manifests", from.String()), minio.StatObjectOptions{}); err != nil {
		return fmt.Errorf("%w: it has no snapshot %s below %s: %s", ErrBucket, from, b.prefix, minio.ToErrorResponse(err).Code)
	}
	return nil
}

// now is the time of the bucket's clock, the only one that several writers share.
func (b *Bucket) now(ctx context.Context) (time.Time, error) {
	if err := b.put(ctx, "check", []byte("gantry writes snapshots here\n")); err != nil {
		return time.Time{}, err
	}
	info, err := b.client.StatObject(ctx, b.bucket, path.Join(b.prefix, "check"), minio.StatObjectOptions{})
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: look into %s: %w", ErrBucket, b.bucket, err)
	}
	return info.LastModified, nil
}

func (b *Bucket) put(ctx context.Context, name string, data []byte) error {
	_, err := b.client.PutObject(ctx, b.bucket, path.Join(b.prefix, name), bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{
		ContentType: "application/octet-stream", DisableMultipart: true,
	})
	if err != nil {
		return fmt.Errorf("%w: write to %s: %w", ErrBucket, b.bucket, err)
	}
	return nil
}

// get reads an object of at most so many bytes.
func (b *Bucket) get(ctx context.Context, name string, most int64) ([]byte, error) {
	o, err := b.client.GetObject(ctx, b.bucket, path.Join(b.prefix, name), minio.GetObjectOptions{})
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrBucket, name, err)
	}
	defer o.Close()
	raw, err := io.ReadAll(io.LimitReader(o, most+1))
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrBucket, name, err)
	}
	if int64(len(raw)) > most {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrDamaged, name, most)
	}
	return raw, nil
}

// has reports whether there is a chunk at a place.
func (b *Bucket) has(ctx context.Context, at string) (bool, error) {
	_, err := b.client.StatObject(ctx, b.bucket, path.Join(b.prefix, "chunks", at), minio.StatObjectOptions{})
	if err == nil {
		return true, nil
	}
	if Missing(err) {
		return false, nil
	}
	return false, fmt.Errorf("%w: look into %s: %w", ErrBucket, b.bucket, err)
}

// Missing reports whether an error says that an object, such as a snapshot or a part of one, is not in the bucket.
func Missing(err error) bool {
	var answered minio.ErrorResponse
	return errors.As(err, &answered) && answered.StatusCode == http.StatusNotFound
}

// name is what a chunk is called.
func (b *Bucket) name(content []byte) string {
	m := hmac.New(sha256.New, b.names)
	m.Write(content)
	return hex.EncodeToString(m.Sum(nil))
}

// seal encrypts content for what it is called.
func (b *Bucket) seal(content []byte, called string) ([]byte, error) {
	nonce := make([]byte, b.aead.NonceSize(), b.aead.NonceSize()+len(content)+b.aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("random number: %w", err)
	}
	return b.aead.Seal(nonce, nonce, content, []byte(called)), nil
}

func (b *Bucket) open(sealed []byte, called string) ([]byte, error) {
	n := b.aead.NonceSize()
	if len(sealed) < n {
		return nil, fmt.Errorf("%w: %s is cut off", ErrDamaged, called)
	}
	content, err := b.aead.Open(nil, sealed[:n], sealed[n:], []byte(called))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrDamaged, called)
	}
	return content, nil
}
