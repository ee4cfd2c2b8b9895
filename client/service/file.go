package service

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge is the cause of the failure to read a file that is larger than what it should hold.
var ErrTooLarge = errors.New("the file is too large")

// ReadFile reads a file of at most so many bytes that a person has named. Error: a Failure.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unread(path, err)
	}
	defer f.Close()
	return readAll(path, f, most)
}

// ReadInput is ReadFile where - stands for an input. Error: a Failure.
func ReadInput(path string, input io.Reader, most int64) ([]byte, error) {
	if path == "-" {
		return readAll("standard input", input, most)
	}
	return ReadFile(path, most)
}

func readAll(name string, r io.Reader, most int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, unread(name, err)
	}
	if int64(len(raw)) > most {
		return nil, &Failure{Code: CodeRefused, Reason: fmt.Sprintf("%s has more than %d KiB", name, most>>10), Advice: "it is not what it should be", Cause: ErrTooLarge}
	}
	return raw, nil
}

func unread(name string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err // the path is in the reason
	}
	return Usage(fmt.Sprintf("%s cannot be read: %v", name, err), "check the path")
}

// OfFlag says of a failure which flag has named what failed. Other errors stay as they are.
func OfFlag(flag string, err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	named := *f
	named.Reason = fmt.Sprintf("--%s: %s", flag, f.Reason)
	return &named
}
