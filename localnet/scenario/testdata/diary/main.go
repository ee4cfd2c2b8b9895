// Command diary is a job that keeps a numbered diary in its volume: diary FOLDER ENTRIES. It says "wrote N TIME" once entry N is
// on the disk, goes on after the last entry that it finds, and serves its name and the number of entries at port 8080.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	every      = 250 * time.Millisecond
	blockEvery = 8 // entries to a block
	blockBytes = 256 << 10
)

func main() {
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	folder, entries := os.Args[1], os.Args[2]
	last, err := strconv.Atoi(entries)
	if err != nil {
		log.Fatal("failed: ", err)
	}
	if err := keep(folder, last); err != nil {
		log.Fatal("failed: ", err)
	}
	fmt.Println("over", time.Now().UnixNano())
}

func keep(folder string, last int) error {
	path := filepath.Join(folder, "diary")
	n, err := read(path)
	if err != nil {
		return err
	}
	if err := checkBlock(folder, n); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Println("began", n, time.Now().UnixNano())
	var count atomic.Int64
	go func() {
		log.Fatal("failed: ", http.ListenAndServe("127.0.0.1:8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, os.Getenv("DIARY"), count.Load())
		})))
	}()
	for n < last {
		n++
		if n%blockEvery == 0 {
			if err := writeBlock(folder, n); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(f, "%09d\n", n); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		count.Store(int64(n))
		fmt.Println("wrote", n, time.Now().UnixNano())
		time.Sleep(every)
	}
	return nil
}

// read counts the entries of a diary, which must be in order and whole.
func read(path string) (int, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for len(raw) > 0 {
		n++
		rest, ok := bytes.CutPrefix(raw, fmt.Appendf(nil, "%09d\n", n))
		if !ok {
			return 0, fmt.Errorf("entry %d of the diary is not what was written", n)
		}
		raw = rest
	}
	return n, nil
}

// block is what is beside the diary after entry n.
func block(n int) []byte {
	b := make([]byte, blockBytes)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(n)*0x9e3779b97f4a7c15+uint64(i))
	}
	return b
}

func writeBlock(folder string, n int) error {
	f, err := os.Create(filepath.Join(folder, "block.new"))
	if err != nil {
		return err
	}
	_, err = f.Write(block(n))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(folder, "block"))
}

// checkBlock: the block is of the last entry that is to have one, or of the next, whose entry was not written any more.
func checkBlock(folder string, n int) error {
	raw, err := os.ReadFile(filepath.Join(folder, "block"))
	if errors.Is(err, fs.ErrNotExist) && n < blockEvery {
		return nil
	}
	if err != nil {
		return err
	}
	of := n / blockEvery * blockEvery
	if !bytes.Equal(raw, block(of)) && (n+1 != of+blockEvery || !bytes.Equal(raw, block(n+1))) {
		return fmt.Errorf("the block is not that of entry %d", of)
	}
	return nil
}
