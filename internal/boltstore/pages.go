package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"os"
	"time"

	"github.com/gantry-market/gantry/internal/filelock"
)

// The file is looked at before bbolt opens it, because bbolt trusts it:
//
//   - bbolt keeps two meta pages, writes them by turns, and silently falls back to the older one where the newer one is
//     damaged. That undoes the last transaction, which a program has acted on. So both must be sound; each is written by a
//     single write of less than a page, which a killed process does not tear.
//   - a wrong offset in a page is a page fault, which ends the process without an error, and bbolt's own check runs where
//     the fault cannot be caught;
//   - a page that is in use and listed as free is overwritten later, with the entries in it.
//
// What follows is bbolt's format, version 2, little-endian. A page begins with 16 bytes: its number (8), flags (2),
// count of elements (2), and how many pages follow that belong to it (4).
const (
	pageHeader  = 16
	elementSize = 16
	flagBranch  = 0x01
	flagLeaf    = 0x02
	flagFree    = 0x10
	leafBucket  = 0x01 // flag of an element whose value is a bucket

	// A meta page: after the header magic, version, page size and flags, 4 bytes each; then the root bucket's page (16)
	// and sequence, the free list's page (32), the number of pages (40), the transaction (48), and the FNV-1a sum (56).
	metaMagic = 0xED0CDAED
	metaSum   = 56
	noFreeMap = ^uint64(0)
	// maxDepth bounds the walk; a tree of this depth holds more than any disk.
	maxDepth = 64
)

type file struct {
	raw  []byte
	size uint64 // of a page
	used []bool
	high uint64 // number of pages
}

// checkPages looks at every page of a file that it uses. It takes nothing on trust. The file is mapped and not read, so
// that only what is looked at is loaded; call it where page faults are caught, since the disk may fail. The file is
// locked meanwhile: what another process has half written is not damage.
func checkPages(path string, timeout time.Duration) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := lock(f, timeout); err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() == 0:
		return Damaged("it is empty")
	}
	raw, unmap, err := mapped(f, info.Size())
	if err != nil {
		return err
	}
	defer unmap()
	return checkFile(raw)
}

// lock waits until no other process has the file open. Closing the file releases it.
func lock(f *os.File, timeout time.Duration) error {
	for end := time.Now().Add(timeout); ; time.Sleep(min(timeout, 20*time.Millisecond)) {
		err := filelock.Try(f, true)
		switch {
		case !errors.Is(err, filelock.ErrHeld):
			return err
		case time.Now().After(end):
			return ErrLocked
		}
	}
}

func checkFile(raw []byte) error {
	f := file{raw: raw}
	var newest []byte
	for i := range uint64(2) {
		at := i * f.size
		if uint64(len(raw)) < at+pageHeader+metaSum+8 {
			return Damaged("it ends in meta page %d", i)
		}
		meta := raw[at+pageHeader:]
		h := fnv.New64a()
		_, _ = h.Write(meta[:metaSum]) // a hash takes everything
		if binary.LittleEndian.Uint32(meta) != metaMagic || binary.LittleEndian.Uint64(meta[metaSum:]) != h.Sum64() {
			return Damaged("meta page %d is not sound", i)
		}
		f.size = uint64(binary.LittleEndian.Uint32(meta[8:]))
		if f.size < 512 || f.size > 1<<20 {
			return Damaged("pages of %d bytes", f.size)
		}
		if newest == nil || binary.LittleEndian.Uint64(meta[48:]) > binary.LittleEndian.Uint64(newest[48:]) {
			newest = meta
		}
	}
	f.high = binary.LittleEndian.Uint64(newest[40:])
	if f.high > uint64(len(raw))/f.size {
		return Damaged("%d pages are said to be there, %d are", f.high, uint64(len(raw))/f.size)
	}
	f.used = make([]bool, f.high)
	if err := f.tree(binary.LittleEndian.Uint64(newest[16:]), 0); err != nil {
		return err
	}
	return f.free(binary.LittleEndian.Uint64(newest[32:]))
}

// page takes a page and those that belong to it, each once.
func (f *file) page(id uint64) ([]byte, error) {
	if id < 2 || id >= f.high {
		return nil, Damaged("page %d of %d", id, f.high)
	}
	head := f.raw[id*f.size:]
	more := uint64(binary.LittleEndian.Uint32(head[12:]))
	if binary.LittleEndian.Uint64(head) != id || more >= f.high-id {
		return nil, Damaged("page %d says that it is page %d with %d more", id, binary.LittleEndian.Uint64(head), more)
	}
	for p := id; p <= id+more; p++ {
		if f.used[p] {
			return nil, Damaged("page %d is used twice", p)
		}
		f.used[p] = true
	}
	return head[:(more+1)*f.size], nil
}

func (f *file) tree(id uint64, depth int) error {
	if depth > maxDepth {
		return Damaged("pages in a circle")
	}
	p, err := f.page(id)
	if err != nil {
		return err
	}
	return f.elements(id, p, depth)
}

// elements checks a branch or leaf, and what it leads to.
func (f *file) elements(id uint64, p []byte, depth int) error {
	flags, count := binary.LittleEndian.Uint16(p[8:]), int(binary.LittleEndian.Uint16(p[10:]))
	if flags != flagBranch && flags != flagLeaf {
		return Damaged("page %d has flags %#x", id, flags)
	}
	if pageHeader+count*elementSize > len(p) || (flags == flagBranch && count == 0) {
		return Damaged("page %d has %d elements", id, count)
	}
	var last []byte
	for i := range count {
		at := pageHeader + i*elementSize
		e := p[at : at+elementSize]
		off, keyLen, valueLen := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint32(e[4:]), uint32(0)
		if flags == flagLeaf {
			off, keyLen, valueLen = binary.LittleEndian.Uint32(e[4:]), binary.LittleEndian.Uint32(e[8:]), binary.LittleEndian.Uint32(e[12:])
		}
		from := uint64(at) + uint64(off)
		if from+uint64(keyLen)+uint64(valueLen) > uint64(len(p)) {
			return Damaged("element %d of page %d is not in it", i, id)
		}
		key := p[from : from+uint64(keyLen)]
		if i > 0 && bytes.Compare(last, key) >= 0 {
			return Damaged("keys of page %d are not in order", id)
		}
		last = key
		value := p[from+uint64(keyLen) : from+uint64(keyLen)+uint64(valueLen)]
		var err error
		switch {
		case flags == flagBranch:
			err = f.tree(binary.LittleEndian.Uint64(e[8:]), depth+1)
		case binary.LittleEndian.Uint32(e)&leafBucket != 0:
			err = f.bucket(id, value, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a bucket, which has a tree of its own or is small and lies in its parent's page.
func (f *file) bucket(id uint64, value []byte, depth int) error {
	if len(value) < 16 {
		return Damaged("a bucket of %d bytes in page %d", len(value), id)
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return f.tree(root, depth+1)
	}
	if len(value) < 16+pageHeader || depth > maxDepth {
		return Damaged("a bucket of %d bytes in page %d", len(value), id)
	}
	return f.elements(id, value[16:], depth+1)
}

// free checks the list of free pages: none of them may be in use.
func (f *file) free(id uint64) error {
	if id == noFreeMap {
		return nil // bbolt makes the list from what is used
	}
	p, err := f.page(id)
	if err != nil {
		return err
	}
	if flags := binary.LittleEndian.Uint16(p[8:]); flags != flagFree {
		return Damaged("the free list has flags %#x", flags)
	}
	count, ids := uint64(binary.LittleEndian.Uint16(p[10:])), p[pageHeader:]
	if count == 0xFFFF {
		if len(ids) < 8 {
			return Damaged("the free list is cut off")
		}
		count, ids = binary.LittleEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		return Damaged("the free list has %d pages", count)
	}
	for i := range count {
		free := binary.LittleEndian.Uint64(ids[8*i:])
		if free < 2 || free >= f.high || f.used[free] {
			return Damaged("page %d is in use and listed as free", free)
		}
		f.used[free] = true
	}
	return nil
}
