// Package ports gives the servers of local networks ports of the loopback interface before they start, which nothing else
// takes until then: other local networks on this computer claim other ports, and the kernel gives these to no connection.
package ports

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

const (
	// low and high bound the ports. They lie below those that the kernel gives to connections (ip_local_port_range).
	low, high = 10_048, 32_000
	// each block has a port that its owner listens on, so that nobody else claims the block, and Most others.
	each = 64
	// Most is how many ports a block has.
	Most = each - 1
)

// ErrNone means that every block is taken.
var ErrNone = errors.New("no free ports on 127.0.0.1")

// Block is a number of consecutive ports. It is this process's until Release, or until the process ends.
type Block struct {
	owner net.Listener
	first int
}

// Claim takes a block whose first ports are free for TCP and UDP. Error: ErrNone; for a count beyond 1 to Most.
func Claim(count int) (*Block, error) {
	if count < 1 || count > Most {
		return nil, fmt.Errorf("a block has 1 to %d ports, not %d", Most, count)
	}
	const blocks = (high - low) / each
	// Where to begin differs from process to process, so that networks started together seldom try the same blocks.
	begin := (os.Getpid()*131 + int(time.Now().UnixNano()/1000)) % blocks
	for i := range blocks {
		base := low + (begin+i)%blocks*each
		owner, err := net.Listen("tcp4", at(base))
		if err != nil {
			continue
		}
		if free(base+1, count) {
			return &Block{owner, base + 1}, nil
		}
		_ = owner.Close() // it says that it was closed
	}
	return nil, ErrNone
}

// First is the block's first port.
func (b *Block) First() int { return b.first }

// Release gives the block back. It may be called on nil.
func (b *Block) Release() {
	if b != nil {
		_ = b.owner.Close() // it says that it was closed before
	}
}

func at(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// free reports whether nothing listens on a number of ports.
func free(first, count int) bool {
	for port := first; port < first+count; port++ {
		l, err := net.Listen("tcp4", at(port))
		if err != nil {
			return false
		}
		_ = l.Close()
		u, err := net.ListenPacket("udp4", at(port))
		if err != nil {
			return false
		}
		_ = u.Close()
	}
	return true
}
