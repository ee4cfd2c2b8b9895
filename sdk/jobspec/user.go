package jobspec

import (
	"errors"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/sys/user"

	"github.com/gantry-market/gantry/sdk/messages"
)

// MaxUserBytes is the longest user that a job or its image names.
const MaxUserBytes = 256

// UserOf is the user of a container's program, and the field that names it: the job's, else the image's.
func UserOf(job messages.JobSpec, image v1.Config) (name string, of Field) {
	if job.User != "" {
		return job.User, User
	}
	return image.User, Image
}

// CheckUser says why no image has a user or group as a job or an image's configuration writes it: a number can be too large, and a name
// is in the image's own files. Error: [*Error].
func CheckUser(name string, of Field) error {
	_, err := user.GetExecUser(name, nil, nil, nil)
	switch {
	case strings.ContainsAny(name, "\n\x00"):
		err = errors.New("it has a line break or a zero byte")
	case len(name) > MaxUserBytes:
		err = errors.New("it is too long")
	case badText(name) != "":
		err = errors.New("it " + badText(name))
	case err == nil || inFiles(err):
		return nil
	}
	if of == User {
		return wrong(RuleUser, User, "write a name of the image's, or numbers, such as 1000:1000", "the user %.64q cannot be: %v", name, err)
	}
	return wrong(RuleUser, Image, "build it with another USER, or name one with --user", "the image's user %.64q cannot be: %v", name, err)
}

// UserNeedsFiles reports whether only the image's own lists of users and groups say which numbers a user is.
func UserNeedsFiles(name string) bool {
	_, err := user.GetExecUser(name, nil, nil, nil)
	return inFiles(err)
}

func inFiles(err error) bool {
	return errors.Is(err, user.ErrNoPasswdEntries) || errors.Is(err, user.ErrNoGroupEntries)
}

// UnknownUser is the refusal of a user that is not in the image's files; why is what they lack. Error: [*Error].
func UnknownUser(name string, of Field, why error) error {
	file := "/etc/passwd"
	if errors.Is(why, user.ErrNoGroupEntries) {
		file = "/etc/group"
	}
	reason := "it is not in the image's " + file
	if !inFiles(why) {
		reason = why.Error()
	}
	if of == User {
		return wrong(RuleUser, User, "write its number, such as 1000:1000, or a name of the image's", "the user %.64q cannot run the job: %.200s", name, reason)
	}
	return wrong(RuleUser, Image, "name its number, such as --user 1000:1000, or make it in the Dockerfile: RUN useradd NAME",
		"the image's user %.64q cannot run the job: %.200s", name, reason)
}
