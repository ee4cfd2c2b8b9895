package buy

import (
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
)

// checkJob refuses what no machine runs, as far as the request says it: a machine would refuse it after the award. The image
// is not resolved yet.
func (r *Request) checkJob() error {
	if r.Restore != "" { // the suspended container says what runs
		return nil
	}
	v, err := r.volume()
	if err != nil {
		return err
	}
	job := r.content()
	job.Image, job.Volume, job.SSHKeys = r.Image, v, r.SSHKeys
	if r.Network != networkNone {
		job.Network = r.Network
	}
	return unrunnable("", jobspec.CheckContent(job))
}

// unrunnable is the failure of a job that no machine runs, with the flag that is wrong. The image is that of the request,
// where the error is about what its registry says.
func unrunnable(image string, err error) error {
	var e *jobspec.Error
	if !errors.As(err, &e) {
		return err
	}
	f := &service.Failure{Code: service.CodeUsage, Reason: e.Why, Advice: e.Do, Cause: err}
	switch {
	case image != "":
		f.Reason = fmt.Sprintf("--image %s: %s", image, e.Why)
	case e.Field != jobspec.Whole && e.Field != jobspec.Command: // the command has no flag
		f.Reason = fmt.Sprintf("--%s: %s", e.Field, e.Why)
	}
	return f
}

// readable refuses a credential that no machine reads.
func readable(c *messages.RegistryCredential) error {
	if err := messages.Check(c); err != nil {
		return usage(fmt.Sprintf("--registry-credentials: what the registry gives is longer than machines read: %v", err),
			"log in with an account of a shorter name and password, or push the image to another registry")
	}
	return nil
}
