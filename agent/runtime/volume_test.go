package runtime

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/sdk/messages"
)

// withVolumes is a runtime whose containers may have volumes.
func withVolumes(t *testing.T) (*Process, string) {
	t.Helper()
	p, reference := withDisks(t)
	if err := CheckVolumes(); err != nil {
		t.Skipf("SKIPPED: no encrypted volumes: %v: it takes a kernel with CONFIG_FS_ENCRYPTION, ext4 and loop devices", err)
	}
	return p, reference
}

func drawKey(t *testing.T) VolumeKey {
	t.Helper()
	key := make(VolumeKey, messages.VolumeKeyBytes)
	_, err := rand.Read(key)
	require.NoError(t, err)
	return key
}

func withVolume(t *testing.T, lease, reference string, mebibytes uint64, command ...string) Spec {
	t.Helper()
	return Spec{
		LeaseID: lease, Image: reference, Command: command, VolumeKey: drawKey(t),
		Volume: &messages.Volume{Name: "data", MiB: mebibytes, Path: "/mnt/data"}, Limits: Limits{DiskMiB: 64, Wall: 5 * time.Minute},
	}
}

// saw waits until a job has printed something.
func saw(t *testing.T, p *Process, lease, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(printed(t, p, lease), text) }, time.Minute, 20*time.Millisecond, "%s: %s", lease, text)
}

// plaintext says which files below some folders have one of some texts in them.
func plaintext(t *testing.T, texts [][]byte, roots ...string) (found []string) {
	t.Helper()
	for _, root := range roots {
		require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(path)
			for _, text := range texts {
				if bytes.Contains(raw, text) {
					found = append(found, filepath.Base(path))
				}
			}
			return err
		}))
	}
	return found
}

// texts are the forms in which a key may have been written.
func (k VolumeKey) texts(t *testing.T) [][]byte {
	t.Helper()
	list, err := json.Marshal([]byte(k))
	require.NoError(t, err)
	return [][]byte{k, []byte(hex.EncodeToString(k)), []byte(base64.StdEncoding.EncodeToString(k)), bytes.Trim(list, `"`)}
}

// What a job writes to its volume is in no file of the node, while it runs and afterwards, and its key is not either. What
// it writes beside the volume is: the same search finds that.
func TestVolumesAreNotReadableFromOutside(t *testing.T) {
	p, reference := withVolumes(t)
	const content, name = "the-content-of-a-file-in-a-volume", "a-name-that-is-found-nowhere-else"
	outside := strings.ToUpper(content)
	spec := withVolume(t, "l", reference, 64, "who", "put=/mnt/data/"+name+","+content, "put=/home/ml/x,"+outside, "list=/mnt/data", "wait")
	st, err := p.Start(background(t), spec)
	require.NoError(t, err)
	require.Equal(t, Running, st.Phase, st.Exit)
	require.Contains(t, strings.Join(st.Limits, "\n"), "volume data of 64 MiB at /mnt/data: an encrypted file system on /dev/loop")
	saw(t, p, "l", "waiting")
	out := printed(t, p, "l")
	require.Contains(t, out, "who 1 1000 1000\n")
	require.Contains(t, out, "put /mnt/data/"+name+" <nil>\n", "the volume belongs to the image's user")
	require.Contains(t, out, "put /home/ml/x <nil>\n")
	require.Contains(t, out, "entry "+name+"\nlisted /mnt/data 1 <nil>\n")

	d, err := p.dir("l")
	require.NoError(t, err)
	kept := filepath.Join(t.TempDir(), "stolen.img") // as a thief has the disk
	require.NoError(t, os.Link(d.volumeFile(), kept))
	look := func() {
		require.Empty(t, plaintext(t, [][]byte{[]byte(content + content)}, p.root, p.sandbox.Images))
		require.Empty(t, plaintext(t, [][]byte{[]byte(name)}, d.volumeFile()))
		require.Empty(t, plaintext(t, spec.VolumeKey.texts(t), p.root, p.sandbox.Images))
	}
	look()
	syscall.Sync() // of the container's own disk too
	require.Contains(t, plaintext(t, [][]byte{[]byte(outside + outside)}, string(d)), "disk.img", "such a search finds what is not encrypted")
	st, err = p.Stop(background(t), "l", 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, 5, st.Exit.Code)
	require.NoFileExists(t, d.volumeFile())
	nothingAttached(t, p)
	require.Empty(t, plaintext(t, [][]byte{[]byte(content + content), []byte(name)}, kept))
	require.Empty(t, plaintext(t, spec.VolumeKey.texts(t), p.root, p.sandbox.Images))
	removeJob(t, p, "l")

	// The thief mounts it: with another key, or without, there are neither names nor contents.
	require.Empty(t, withoutKey(t, kept, name))
}

// withoutKey mounts a volume's file as somebody without its key, and returns what of a name or a readable file is there.
func withoutKey(t *testing.T, image, name string) (readable []string) {
	t.Helper()
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	device, err := attachLoop(file)
	require.NoError(t, err)
	v := &volume{device: device}
	defer v.close()
	v.mount, v.root, err = mountDetached(device)
	require.NoError(t, err)
	root := fmt.Sprintf("/proc/self/fd/%d", v.root.Fd())
	require.DirExists(t, filepath.Join(root, "data"), "the folder itself has its name")
	entries, err := os.ReadDir(filepath.Join(root, "data"))
	require.NoError(t, err)
	for _, e := range entries {
		_, err := os.ReadFile(filepath.Join(root, "data", e.Name()))
		if e.Name() == name || err == nil {
			readable = append(readable, e.Name())
		}
		require.ErrorIs(t, err, syscall.ENOKEY)
	}
	return readable
}

// The next lease with a volume of the same name, on the same machine, finds an empty one.
func TestVolumesBeginEmpty(t *testing.T) {
	p, reference := withVolumes(t)
	for _, lease := range []string{"first", "second"} {
		st, out := ran(t, p, withVolume(t, lease, reference, 16, "list=/mnt/data", "put=/mnt/data/x,of "+lease, "get=/mnt/data/x"))
		require.Zero(t, st.Exit.Code, out)
		require.Contains(t, out, "listed /mnt/data 0 <nil>\n")
		require.Contains(t, out, fmt.Sprintf("got /mnt/data/x %q <nil>", "of "+lease+"of "+lease))
	}
	nothingAttached(t, p)
}

// A full volume is an error of the job's own. Its room was set aside before it began, and it takes no more.
func TestVolumesHaveAQuota(t *testing.T) {
	p, reference := withVolumes(t)
	spec := withVolume(t, "l", reference, 32, "fill=/mnt/data/x", "put=/home/ml/beside,x", "wait")
	d, err := p.dir("l")
	require.NoError(t, err)
	_, err = p.Start(background(t), spec)
	require.NoError(t, err)
	saw(t, p, "l", "waiting")
	out := printed(t, p, "l")
	require.Contains(t, out, "no space left on device")
	require.Contains(t, out, "put /home/ml/beside <nil>\n", "the container's own disk is another")
	use, err := p.Usage(background(t), "l")
	require.NoError(t, err)
	t.Logf("%+v", use)
	require.Greater(t, use.Volume, uint64(20<<20))
	require.LessOrEqual(t, use.Volume, use.VolumeSize)
	require.LessOrEqual(t, use.VolumeSize, uint64(32<<20), "a part is ext4's own")
	require.Less(t, use.Disk, uint64(20<<20), "the volume counts for itself")
	var file syscall.Stat_t
	require.NoError(t, syscall.Stat(d.volumeFile(), &file))
	require.Equal(t, int64(32<<20), file.Size)
	require.InDelta(t, 32<<20, file.Blocks*512, 1<<20)
	_, err = p.Stop(background(t), "l", 0)
	require.NoError(t, err)
	require.NoFileExists(t, d.volumeFile())
}

// The room is reserved when the lease is prepared, and what the disk has not is refused.
func TestVolumesAreReserved(t *testing.T) {
	p, reference := withVolumes(t)
	huge := withVolume(t, "huge", reference, messages.MaxVolumeMiB, "who")
	require.ErrorIs(t, p.Check(huge), ErrVolume)
	d, err := p.dir("huge")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(string(d), 0o700))
	require.ErrorIs(t, reserveVolume(d, huge), ErrVolume, "also where the check came before another lease took the room")
	require.NoFileExists(t, d.volumeFile())

	spec := withVolume(t, "l", reference, 64, "who")
	require.NoError(t, reserveVolumeTwice(t, p, spec))
	d, err = p.dir("l")
	require.NoError(t, err)
	var file syscall.Stat_t
	require.NoError(t, syscall.Stat(d.volumeFile(), &file))
	require.GreaterOrEqual(t, file.Blocks*512, int64(64<<20))
	again, err := NewProcess(t.Context(), ProcessOptions{Root: p.root, Cluster: options(p.root).Cluster, Sandbox: p.sandbox})
	require.NoError(t, err)
	require.FileExists(t, d.volumeFile(), "an agent that starts again keeps what is reserved for a lease that has not begun")
	require.NoError(t, again.Remove(background(t), "l"))
	require.NoFileExists(t, d.volumeFile())
}

func reserveVolumeTwice(t *testing.T, p *Process, spec Spec) error {
	t.Helper()
	d, err := p.dir(spec.LeaseID)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(string(d), 0o700))
	require.NoError(t, reserveVolume(d, spec))
	return reserveVolume(d, spec)
}

// volumeAgent is an agent that starts a job with a volume, whose key it reads, and waits to be killed.
func volumeAgent(args []string) {
	root, runsc, images, reference := args[0], args[1], args[2], args[3]
	o := options(root)
	o.Sandbox = Sandbox{Runsc: runsc, Images: images}
	p, err := NewProcess(context.Background(), o)
	key, kerr := io.ReadAll(os.Stdin)
	if err == nil && kerr == nil {
		_, err = p.Start(context.Background(), Spec{
			LeaseID: "l", Image: reference, VolumeKey: key, Volume: &messages.Volume{Name: "data", MiB: 16, Path: "/mnt/data"},
			Command: []string{"put=/mnt/data/x,kept", "put=/mnt/data/ready,x", "await=/mnt/data/go-on", "get=/mnt/data/x", "exit"},
		})
	}
	fmt.Println("started", err, kerr)
	select {}
}

// Whether the agent lives is nothing to a job and its volume.
func TestVolumesOutliveTheAgent(t *testing.T) {
	p, reference := withVolumes(t)
	key := drawKey(t)
	agent := exec.Command(self, "volume-agent", p.root, p.sandbox.Runsc, p.sandbox.Images, reference)
	agent.Stdin = bytes.NewReader(key)
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	defer func() { _ = agent.Process.Kill(); _ = agent.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started <nil> <nil>\n", line)
	saw(t, p, "l", "put /mnt/data/ready")
	require.NoError(t, agent.Process.Kill())
	_ = agent.Wait()

	again, err := NewProcess(t.Context(), ProcessOptions{Root: p.root, Cluster: options(p.root).Cluster, Sandbox: p.sandbox})
	require.NoError(t, err)
	d, err := again.dir("l")
	require.NoError(t, err)
	require.FileExists(t, d.volumeFile())
	require.Len(t, attached(t, again), 1)
	c, err := readContainer(d)
	require.NoError(t, err)
	goOn := exec.Command(c.Runsc, "--root", d.sandboxState(), "exec", "l", "/bin/job", "put=/mnt/data/go-on,x")
	// The job may see the file and end before the command has said that it wrote it; the command is killed with it then.
	said, err := goOn.CombinedOutput()
	t.Logf("the command that wrote go-on: %v %s", err, said)
	st, err := again.Wait(background(t), "l")
	require.NoError(t, err)
	require.Equal(t, 9, st.Exit.Code)
	require.Contains(t, printed(t, again, "l"), `got /mnt/data/x "keptkept" <nil>`)
	require.NoFileExists(t, d.volumeFile())
	require.Empty(t, plaintext(t, key.texts(t), p.root, p.sandbox.Images))
	nothingAttached(t, p)
}

// A supervisor that is killed takes the volume along: the kernel drops the key, the mount and the device, and the next agent
// the file.
func TestVolumesGoWithTheirSupervisor(t *testing.T) {
	p, reference := withVolumes(t)
	_, err := p.Start(background(t), withVolume(t, "l", reference, 16, "put=/mnt/data/x,y", "wait"))
	require.NoError(t, err)
	saw(t, p, "l", "waiting")
	require.Len(t, attached(t, p), 2, "the container's disk, and the volume")
	d, err := p.dir("l")
	require.NoError(t, err)
	kept := filepath.Join(t.TempDir(), "stolen.img")
	require.NoError(t, os.Link(d.volumeFile(), kept))
	var r runRecord
	_, err = readJSON(d.run(), &r)
	require.NoError(t, err)
	require.NoError(t, r.Supervisor.Signal(syscall.SIGKILL))
	nothingAttached(t, p)
	require.Eventually(t, func() bool { return !Locked(d.lock()) }, time.Minute, 20*time.Millisecond)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), p.root)
	require.FileExists(t, d.volumeFile())
	require.Empty(t, withoutKey(t, kept, "x"))
	again, err := NewProcess(t.Context(), ProcessOptions{Root: p.root, Cluster: options(p.root).Cluster, Sandbox: p.sandbox})
	require.NoError(t, err)
	require.NoFileExists(t, d.volumeFile())
	st, err := again.Status(background(t), "l")
	require.NoError(t, err)
	require.Equal(t, Lost, st.Phase)
	removeJob(t, p, "l")
}

func TestVolumesThatCannotBeHad(t *testing.T) {
	p, reference := withVolumes(t)
	good := withVolume(t, "l", reference, 16, "who")
	require.NoError(t, p.Check(good))
	for name, change := range map[string]func(*Spec){
		"no container": func(s *Spec) { s.Image = "" },
		"path":         func(s *Spec) { s.Volume = &messages.Volume{Name: "data", MiB: 16, Path: "/proc/x"} },
		"name":         func(s *Spec) { s.Volume = &messages.Volume{Name: "../x", MiB: 16, Path: "/data"} },
		"key alone":    func(s *Spec) { s.Volume = nil },
	} {
		s := good
		change(&s)
		require.ErrorIs(t, p.Check(s), ErrSpec, name)
	}
	p.volumes = func() error { return fmt.Errorf("%w: no such kernel", ErrVolume) }
	err := p.Check(good)
	require.ErrorIs(t, err, ErrVolume)
	require.ErrorContains(t, err, "no such kernel; order without --volume, or from another node")
	p.volumes = func() error { return nil }

	// Without its key a job does not run, and one of another length opens nothing.
	for lease, key := range map[string]VolumeKey{"none": nil, "short": make(VolumeKey, 12), "almost": make(VolumeKey, messages.VolumeKeyBytes-1)} {
		s := good
		s.LeaseID, s.VolumeKey = lease, key
		_, err := p.Start(background(t), s)
		require.ErrorIs(t, err, ErrSpec)
	}
	nothingAttached(t, p)
}

// Links of the image where the volume goes lead nowhere on the machine.
func TestVolumesBehindLinks(t *testing.T) {
	p, _ := withVolumes(t)
	machine := t.TempDir()
	link := func(name, to string) imagetest.Entry {
		return imagetest.Entry{Header: tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink, Mode: 0o777}}
	}
	for lease, at := range map[string]string{"last": "/mnt/data", "first": "/way/data", "up": "/out/x"} {
		reference := jobImage(t, link("mnt/data", machine), link("way", machine), link("out", "../../../../../.."+machine))
		spec := withVolume(t, lease, reference, 16, "put="+at+"/x,y", "get="+at+"/x", "exit")
		spec.Volume.Path = at
		st, out := ran(t, p, spec)
		t.Log(lease, st.Exit, out)
		entries, err := os.ReadDir(machine)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
	nothingAttached(t, p)
}

func TestVolumesKeepKeysOutOfText(t *testing.T) {
	key := drawKey(t)
	require.Equal(t, "(key)", fmt.Sprint(key))
	raw, err := json.Marshal(Spec{VolumeKey: key})
	require.NoError(t, err)
	for _, text := range key.texts(t) {
		require.NotContains(t, string(raw), string(text))
	}
}
