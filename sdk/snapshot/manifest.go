package snapshot

import (
	"io/fs"
	"path"
	"time"

	"github.com/gantry-market/gantry/sdk/messages"
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
	// Container is that of a suspended container; nil for a volume alone. The first element of its paths is a part's name.
	Container *Container `json:"container,omitempty"`
}

// The parts of a suspended container.
const (
	// PartState is what runsc has written of processes and memory.
	PartState = "state"
	// PartFiles is the upper layer above the image.
	PartFiles = "files"
	// PartVolume is the volume.
	PartVolume = "volume"
)

// Container says of a suspended container what has to be the same where it goes on.
type Container struct {
	// Image with its digest, Command, Env, Network and Volume are those of its job.
	Image   string            `json:"image"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Network string            `json:"network,omitempty"`
	Volume  messages.Volume   `json:"volume"`
	// Runsc is the version of the program that wrote the state, the only one that reads it.
	Runsc string `json:"runsc"`
	// Memory is how many bytes the state has, about what the container takes.
	Memory int64 `json:"memory"`
}

type entry struct {
	Path string      `json:"path"`
	Mode fs.FileMode `json:"mode"`
	UID  int         `json:"uid"`
	GID  int         `json:"gid"`
	Time time.Time   `json:"time"`
	Link string      `json:"link,omitempty"`
	Size int64       `json:"size,omitempty"`
	// Chunks of a file, in order, as DAY/NAME; an empty one is a hole.
	Chunks []string `json:"chunks,omitempty"`
	// Opaque is a folder of a layer that hides what the layers below have in it.
	Opaque bool `json:"opaque,omitempty"`
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

// places says where the chunks of a manifest are, by their names.
func (m manifest) places() map[string]string {
	out := map[string]string{}
	for _, e := range m.Entries {
		for _, at := range e.Chunks {
			if at != "" {
				out[path.Base(at)] = at
			}
		}
	}
	return out
}
