package gpus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// The cache of libraries in an image, as glibc's ldconfig writes it: a header, entries, their strings, and an extension. Offsets count
// from the header. Older ones begin with a list of another format.
const (
	cacheFile    = "etc/ld.so.cache"
	maxCache     = 16 << 20
	cacheMagic   = "glibc-ld.so.cache1.1"
	cacheHeader  = 48
	cacheEntry   = 24
	oldMagic     = "ld.so-1.7.0\x00"
	oldHeader    = 16
	oldEntry     = 12
	extMagic     = 0xeaa42174
	extHwcaps    = 1       // the tag of a section that has offsets of strings
	extSection   = 16      // the size of a section's description
	hwcapBit     = 1 << 62 // of an entry: its folder is named in the extension
	libraryFlags = 0x0303  // a library for glibc and x86-64
)

// AddToCache puts the driver's libraries into the image's cache of libraries, so that "ldconfig -p" names them, and programs without
// an environment find them before others of their name. rootfs is what the container writes to. An image without a cache has none
// afterwards, and one that cannot be read stays as it is: there the links of LinkDefaults are what is found.
func (d Driver) AddToCache(rootfs string) error {
	root, err := os.OpenRoot(rootfs)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	defer root.Close()
	info, err := root.Stat(cacheFile)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCache {
		return nil
	}
	f, err := root.OpenFile(cacheFile, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: the image's cache of libraries: %w", ErrSpec, err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxCache))
	if err != nil {
		return fmt.Errorf("%w: the image's cache of libraries: %w", ErrSpec, err)
	}
	names, err := os.ReadDir(d.Links)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	paths := make([]string, len(names))
	for i, e := range names {
		paths[i] = path.Join(linksInside, e.Name())
	}
	fresh, ok := extendCache(raw, paths)
	if !ok {
		return nil
	}
	if _, err := f.WriteAt(fresh, 0); err != nil {
		return fmt.Errorf("%w: the image's cache of libraries: %w", ErrSpec, err)
	}
	return f.Truncate(int64(len(fresh)))
}

// cached is an entry of a cache; key is its library's name.
type cached struct {
	key string
	raw [cacheEntry]byte
}

// extendCache adds libraries to a cache. ok is false for what is no cache, or has them.
func extendCache(raw []byte, paths []string) (out []byte, ok bool) {
	raw, older := withoutOld(raw)
	if len(raw) < cacheHeader || !bytes.HasPrefix(raw, []byte(cacheMagic)) {
		return nil, false
	}
	count := uint64(order.Uint32(raw[20:]))
	end := cacheHeader + count*cacheEntry
	if end > uint64(len(raw)) {
		return nil, false
	}
	entries := make([]cached, 0, int(count)+len(paths))
	for i := range count {
		e := cached{raw: [cacheEntry]byte(raw[cacheHeader+i*cacheEntry:])}
		value, known := text(raw, order.Uint32(e.raw[8:]))
		if e.key, ok = text(raw, order.Uint32(e.raw[4:])); !ok || !known || strings.HasPrefix(value, linksInside+"/") {
			return nil, false
		}
		if older && order.Uint64(e.raw[16:])&hwcapBit != 0 {
			continue // the folder's name is in the extension, which is left out of what had an older format
		}
		entries = append(entries, e)
	}
	header, tail := slices.Clone(raw[:cacheHeader]), slices.Clone(raw[end:])
	shift := uint32((len(entries) + len(paths) - int(count)) * cacheEntry) // of all that follows the entries; modulo 2^32
	if older {
		order.PutUint32(header[32:], 0)
	} else if !moveExtension(header, tail, uint32(end), shift) {
		return nil, false
	}
	for i := range entries {
		for _, at := range []int{4, 8} {
			order.PutUint32(entries[i].raw[at:], order.Uint32(entries[i].raw[at:])+shift)
		}
	}
	for _, p := range paths {
		e := cached{key: path.Base(p)}
		at := uint32(end) + shift + uint32(len(tail))
		order.PutUint32(e.raw[0:], libraryFlags)
		order.PutUint32(e.raw[4:], at+uint32(len(p)-len(e.key)))
		order.PutUint32(e.raw[8:], at)
		tail = append(append(tail, p...), 0)
		first := slices.IndexFunc(entries, func(o cached) bool { return compareLibraries(o.key, e.key) <= 0 })
		if first < 0 {
			first = len(entries)
		}
		entries = slices.Insert(entries, first, e)
	}
	order.PutUint32(header[20:], uint32(len(entries)))
	out = header
	for _, e := range entries {
		out = append(out, e.raw[:]...)
	}
	return append(out, tail...), true
}

var order = binary.LittleEndian

// withoutOld leaves out the list of the older format with which a cache may begin.
func withoutOld(raw []byte) (rest []byte, older bool) {
	if len(raw) < oldHeader || !bytes.HasPrefix(raw, []byte(oldMagic)) {
		return raw, false
	}
	skip := (oldHeader + oldEntry*uint64(order.Uint32(raw[12:])) + 7) &^ 7
	return raw[min(skip, uint64(len(raw))):], true
}

// text is the string at an offset.
func text(raw []byte, at uint32) (string, bool) {
	if uint64(at) >= uint64(len(raw)) {
		return "", false
	}
	end := bytes.IndexByte(raw[at:], 0)
	return string(raw[at : int(at)+max(end, 0)]), end >= 0
}

// moveExtension corrects offsets in the extension of a cache, if it has one; tail is what follows the entries, and begins at end.
func moveExtension(header, tail []byte, end, shift uint32) bool {
	at := order.Uint32(header[32:])
	if at == 0 {
		return true
	}
	in := func(offset, size uint64) []byte { // of the tail
		if offset < uint64(end) || offset+size > uint64(end)+uint64(len(tail)) {
			return nil
		}
		return tail[offset-uint64(end):][:size]
	}
	head := in(uint64(at), 8)
	if head == nil || order.Uint32(head) != extMagic {
		return false
	}
	sections := in(uint64(at)+8, uint64(order.Uint32(head[4:]))*extSection)
	if sections == nil {
		return false
	}
	for ; len(sections) > 0; sections = sections[extSection:] {
		offset := order.Uint32(sections[8:])
		data := in(uint64(offset), uint64(order.Uint32(sections[12:])))
		if data == nil {
			return false
		}
		if order.Uint32(sections) == extHwcaps {
			for ; len(data) >= 4; data = data[4:] {
				order.PutUint32(data, order.Uint32(data)+shift)
			}
		}
		order.PutUint32(sections[8:], offset+shift)
	}
	order.PutUint32(header[32:], at+shift)
	return true
}

// compareLibraries is the order of names in a cache, which begins with the greatest: numbers in them count as numbers.
func compareLibraries(a, b string) int {
	digit := func(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }
	number := func(s string) (n int32, rest string) {
		for ; digit(s); s = s[1:] {
			n = n*10 + int32(s[0]-'0')
		}
		return n, s
	}
	for a != "" {
		switch {
		case digit(a) && digit(b):
			var x, y int32
			x, a = number(a)
			if y, b = number(b); x != y {
				return int(x) - int(y)
			}
		case digit(a):
			return 1
		case digit(b):
			return -1
		case b == "" || a[0] != b[0]:
			if b == "" {
				return 1
			}
			return int(a[0]) - int(b[0])
		default:
			a, b = a[1:], b[1:]
		}
	}
	return -len(b)
}
