package image

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// Modes of files, as cpio and the kernel have them.
const (
	modeDir  = 0o040755
	modeExec = 0o100755
	modeFile = 0o100644
	modeNode = 0o020600
)

// entry is a file of the initial memory disk.
type entry struct {
	name         string
	mode         uint32
	major, minor uint32
	data         []byte
}

// cpio writes entries in the format that the kernel reads ("newc"), in their order. Owner and time are zero, and inodes are counted.
func cpio(entries []entry) []byte {
	var b bytes.Buffer
	for i, e := range append(entries, entry{name: "TRAILER!!!"}) {
		inode, links := i+1, 1
		if e.name == "TRAILER!!!" {
			inode = 0
		}
		// magic, inode, mode, uid, gid, links, time, size, device of the file, device that it is, length of the name, checksum
		fmt.Fprintf(&b, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
			inode, e.mode, 0, 0, links, 0, len(e.data), 0, 0, e.major, e.minor, len(e.name)+1, 0, e.name)
		pad(&b, 4)
		b.Write(e.data)
		pad(&b, 4)
	}
	return b.Bytes()
}

func pad(b *bytes.Buffer, to int) { b.Write(make([]byte, (to-b.Len()%to)%to)) }

// guestModules is the folder of the guest in which its modules are. Their names begin with the number of their turn.
const guestModules = "/modules"

// initramfs is the initial memory disk, compressed without name and time.
func initramfs(program []byte, modules []Module) ([]byte, error) {
	entries := []entry{
		{name: "dev", mode: modeDir},
		{name: "dev/console", mode: modeNode, major: 5, minor: 1},
		{name: "dev/null", mode: modeNode, major: 1, minor: 3},
		{name: "init", mode: modeExec, data: program},
		{name: guestModules[1:], mode: modeDir},
	}
	for i, m := range modules {
		entries = append(entries, entry{name: fmt.Sprintf("%s/%02d-%s", guestModules[1:], i, m.Name), mode: modeFile, data: m.Data})
	}
	entries = append(entries, entry{name: "proc", mode: modeDir}, entry{name: "sys", mode: modeDir})
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(cpio(entries)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
