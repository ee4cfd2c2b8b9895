package snapshot

import (
	"io/fs"
	"time"
)

const (
	version    = 1
	maxEntries = 1 << 20
	maxPath    = 4096
	// nameOfList is what a manifest is called where it is encrypted.
	nameOfList = "manifest"
)

// manifest lists what a snapshot has, folders before what is in them.
type manifest struct {
	Version int     `json:"version"`
	Entries []entry `json:"entries"`
}

type entry struct {
	Path string      `json:"path"`
	Mode fs.FileMode `json:"mode"`
	UID  int         `json:"uid"`
	GID  int         `json:"gid"`
	Time time.Time   `json:"time"`
	Link string      `json:"link,omitempty"`
	Size int64       `json:"size,omitempty"`
	// Chunks of a file, in order; an empty one is a hole.
	Chunks []string `json:"chunks,omitempty"`
}

// seen is a file as the last snapshot had it. The kernel changes ctime with every change of a file, and lets nobody set it.
type seen struct {
	inode          uint64
	size           int64
	changed, wrote int64
	chunks         []string
}

func (s seen) same(o seen) bool {
	return s.inode == o.inode && s.size == o.size && s.changed == o.changed && s.wrote == o.wrote
}
