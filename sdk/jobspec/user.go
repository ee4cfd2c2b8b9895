package jobspec

import (
	"errors"
	"strings"

	"github.com/moby/sys/user"
)

// MaxUserBytes is the longest user that a job or its image names.
const MaxUserBytes = 256

// CheckUser says why no image has a user or group as its configuration writes it: a number can be too large, and a name is
// in the image's own files. Error: [*Error].
func CheckUser(name string) error {
	_, err := user.GetExecUser(name, nil, nil, nil)
	switch {
	case strings.ContainsAny(name, "\n\x00"):
		err = errors.New("it has a line break or a zero byte")
	case len(name) > MaxUserBytes:
		err = errors.New("it is too long")
	case err == nil || inFiles(err):
		return nil
	}
	return wrong(RuleUser, Image, "build it with another USER", "the image's user %.64q cannot be: %v", name, err)
}

// UserNeedsFiles reports whether only the image's own lists of users and groups say which numbers a user is.
func UserNeedsFiles(name string) bool {
	_, err := user.GetExecUser(name, nil, nil, nil)
	return inFiles(err)
}

func inFiles(err error) bool {
	return errors.Is(err, user.ErrNoPasswdEntries) || errors.Is(err, user.ErrNoGroupEntries)
}

// UnknownUser is the refusal of an image whose files do not have its user; why is what they lack. Error: [*Error].
func UnknownUser(name string, why error) error {
	file := "/etc/passwd"
	if errors.Is(why, user.ErrNoGroupEntries) {
		file = "/etc/group"
	}
	reason := "it is not in the image's " + file
	if !inFiles(why) {
		reason = why.Error()
	}
	return wrong(RuleUser, Image, "write it as numbers, such as USER 1000:1000, or make it in the Dockerfile: RUN useradd NAME",
		"the image's user %.64q cannot run the job: %.200s", name, reason)
}
