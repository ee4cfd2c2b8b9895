package runtime

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	goruntime "runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/network"
)

const (
	watchEvery   = 250 * time.Millisecond
	diskEvery    = 4 // checks of memory for one of the disk
	aliveEvery   = 4 // and for one sign of life
	networkEvery = 4 // and for one of the rules of the network
	wallGrace    = 2 * time.Second
	defaultGrace = 5 * time.Second
	drainTimeout = 2 * time.Second
)

// supervisor is the process that starts one job and outlives the agent.
type supervisor struct {
	dir    leaseDir
	spec   Spec
	cgroup *cgroup
	memory *oomWatch // of a container on a machine with cgroup v1; else nil
	disk   *disk     // nil where the disk is watched
	volume *volume   // nil where the job has none
	// backups is nil where nothing is kept of the volume.
	backups *backups
	// state has what a container goes on from until it does; nil otherwise.
	state      *volume
	suspending suspending
	record     runRecord

	network  network.Plan
	attached bool

	cmd    *exec.Cmd
	logs   sync.WaitGroup
	pipes  []*os.File
	waited chan error
}

// supervise runs the job of dir to its end.
func supervise(dir leaseDir) error {
	// The job gets a signal when the thread that started it dies: this one must live as long as the process.
	goruntime.LockOSThread()
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)

	lock, free, err := TakeLock(dir.lock())
	if err != nil || !free {
		return err
	}
	defer lock.Close()
	if dir.exists(dir.run()) || dir.exists(dir.exit()) {
		return nil // it ran already
	}
	s := &supervisor{dir: dir, waited: make(chan error, 1)}
	if ok, err := readJSON(dir.spec(), &s.spec); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("runtime: no specification in %s", dir))
	}
	var secret secrets
	if s.spec.Volume != nil {
		if secret, err = readSecrets(os.Stdin); err != nil {
			return err
		}
	}
	exit := s.run(signals, secret)
	s.backups.close()
	s.disk.close()
	s.state.destroy(dir.stateFile())
	s.volume.destroy(dir.volumeFile())
	if s.cgroup != nil {
		s.cgroup.remove()
	}
	return dir.write(dir.exit(), exit)
}

// run starts the job and waits for it; it always returns an exit.
func (s *supervisor) run(signals <-chan os.Signal, secret secrets) Exit {
	begin := time.Now()
	started := begin.UTC()
	failed := func(err error) Exit {
		return Exit{Reason: ReasonStartFailed, Code: 127, Message: err.Error(), StartedAt: started, FinishedAt: time.Now().UTC()}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return failed(fmt.Errorf("become subreaper: %w", err))
	}
	me, err := Identify(os.Getpid())
	if err != nil {
		return failed(err)
	}
	s.record = runRecord{Supervisor: me, StartedAt: started, Mark: rand.Text()}
	s.chooseLimits()
	if err := s.openVolume(secret); err != nil {
		return failed(err)
	}
	if err := s.dir.write(s.dir.run(), s.record); err != nil {
		return failed(err)
	}
	defer s.detachNetwork()
	if err := s.prepare(signals); err != nil {
		s.killTree()
		s.drain()
		s.backups.over()
		return failed(err)
	}
	begin = time.Now()
	started = begin.UTC()
	if s.cmd == nil {
		if err := s.start(); err != nil {
			s.killTree()
			s.drain()
			s.backups.over()
			return failed(err)
		}
	}
	reason := s.watch(signals, begin)
	s.killTree()
	s.drain()
	s.giveUpSuspending()         // the job died while it was frozen
	if s.suspending.hash == "" { // nothing has changed since
		s.lastSnapshot()
	}
	if s.spec.Image != "" {
		removeGroups(s.spec.LeaseID)
	}
	return s.exit(reason, started)
}

// chooseLimits makes the cgroup if there can be one, and says what holds.
func (s *supervisor) chooseLimits() {
	l, say := s.spec.Limits, func(format string, args ...any) {
		s.record.Limits = append(s.record.Limits, fmt.Sprintf(format, args...))
	}
	g, err := newCgroup(s.spec.LeaseID, l)
	if err == nil {
		s.cgroup, s.record.Cgroup = g, g.path
		say("cgroup v2: %s", g.path)
	} else {
		say("no cgroup: %v", err)
	}
	if l.MemoryMiB > 0 {
		switch r := limitsOf(l, g != nil); {
		case g != nil:
			say("memory %d MiB: cgroup", l.MemoryMiB)
		case s.spec.Image != "" && r != nil:
			say("memory %d MiB: cgroup v1, made by runsc", l.MemoryMiB)
			s.memory = newOOMWatch(s.spec.LeaseID)
		case s.spec.Image != "":
			say("memory %d MiB: not enforced for a container without a cgroup", l.MemoryMiB)
		default:
			say("memory %d MiB: RLIMIT_DATA for each process, watch over the tree", l.MemoryMiB)
		}
	}
	if l.CPUs > 0 {
		if g != nil {
			say("%g CPUs: cgroup", l.CPUs)
		} else {
			say("%g CPUs: affinity, rounded up", l.CPUs)
		}
	}
	if g != nil {
		say("%d processes: cgroup", l.processes())
	} else {
		say("%d processes: RLIMIT_NPROC, which does not bind root, watch over the tree", l.processes())
	}
	s.chooseDisk()
	if l.Wall > 0 {
		say("wall time %v: supervisor", l.Wall)
	}
}

// start starts the exec stage, writes down who it is, and lets it become the job.
func (s *supervisor) start() error {
	files, closeAll, err := openPipes(4)
	if err != nil {
		return err
	}
	defer closeAll()
	outR, outW, errR, errW := files[0], files[1], files[2], files[3]
	reportR, reportW, gateR, gateW := files[4], files[5], files[6], files[7]

	s.cmd = exec.Command(self, InternalCommand, stageExec, string(s.dir))
	s.cmd.Args[0] = "gantry-agent"
	s.cmd.Dir = s.dir.work()
	s.cmd.Env = []string{envSupervisor + "=" + strconv.Itoa(os.Getpid()), envRun + "=" + s.record.Mark}
	if s.state != nil {
		s.cmd.Env = append(s.cmd.Env, envResume+"="+s.state.path(stateFolder))
	}
	s.cmd.Stdout, s.cmd.Stderr = outW, errW
	s.cmd.ExtraFiles = []*os.File{reportW, gateR} // fdReport, fdGate
	if s.volume != nil {
		s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, s.volume.mount) // fdVolume
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if s.spec.Image != "" {
		// The image is mounted for this process and its children alone, and the network is theirs.
		s.cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS | s.networkFlags()
	}
	if s.cgroup != nil {
		if err := s.cgroup.place(s.cmd.SysProcAttr); err != nil {
			return fmt.Errorf("enter cgroup: %w", err)
		}
		s.cmd.Env = append(s.cmd.Env, envCgroup+"=1")
	}
	if err := s.copyLog(Stdout, outR); err != nil {
		return err
	}
	if err := s.copyLog(Stderr, errR); err != nil {
		return err
	}
	files[0], files[2] = nil, nil // now owned by the copies
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start job: %w", err)
	}
	go func() { s.waited <- s.cmd.Wait() }()
	for _, f := range []*os.File{outW, errW, reportW, gateR} {
		f.Close()
	}
	failed := s.release(gateW)
	_ = gateW.Close()
	message, err := io.ReadAll(io.LimitReader(reportR, 4096))
	switch {
	case err != nil:
		return fmt.Errorf("start job: %w", err)
	case len(message) > 0: // also where release failed, because the exec stage had ended
		return errors.New(string(message))
	}
	return failed
}

// release writes down who the exec stage is, and lets it become the job.
func (s *supervisor) release(gate *os.File) (err error) {
	if s.record.Job, err = Identify(s.cmd.Process.Pid); err != nil {
		return err
	}
	if err := s.attachNetwork(); err != nil {
		return err
	}
	if err := s.dir.write(s.dir.run(), s.record); err != nil {
		return err
	}
	if _, err := gate.Write([]byte{1}); err != nil {
		return fmt.Errorf("release job: %w", err)
	}
	return nil
}

// openPipes opens count pipes as read end, write end, read end, … closeAll closes every one that was not set to nil;
// closing twice is harmless.
func openPipes(count int) (files []*os.File, closeAll func(), err error) {
	closeAll = func() {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := 0; i < count; i++ {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll()
			return nil, func() {}, fmt.Errorf("runtime: %w", err)
		}
		files = append(files, r, w)
	}
	return files, closeAll, nil
}

// drain waits for the outputs' last bytes. Everything that held them is dead.
func (s *supervisor) drain() {
	done := make(chan struct{})
	go func() { s.logs.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drainTimeout):
		for _, p := range s.pipes {
			p.Close()
		}
		<-done
	}
}

// exit reads the job's wait status.
func (s *supervisor) exit(reason Reason, started time.Time) Exit {
	e := Exit{Reason: reason, Code: 127, StartedAt: started, FinishedAt: time.Now().UTC()}
	if reason == ReasonSuspended {
		e.Code = 0
		return e
	}
	if s.cgroup != nil && s.cgroup.outOfMemory() && reason == ReasonExited {
		e.Reason = ReasonMemory
	}
	status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		e.Message = s.cmd.ProcessState.String()
	case status.Signaled():
		e.Code, e.Signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
		if status.Signal() == syscall.SIGXFSZ && reason == ReasonExited {
			e.Reason = ReasonDisk
		}
	default:
		e.Code = status.ExitStatus()
	}
	if e.Reason == ReasonExited && e.Code == killed && s.memory.ranOut() {
		e.Reason = ReasonMemory
	}
	s.memory.close()
	return e
}

// killed is the exit code of what SIGKILL ended.
const killed = 128 + int(syscall.SIGKILL)
