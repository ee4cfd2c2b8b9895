// Package runtime runs a customer's job on the node.
//
// [Runtime] is what the agent needs from any way to run jobs; [Process] is the only implementation. A job without an
// image runs as an ordinary process in a working directory of its own. That limits what a job uses and keeps its
// environment clean, but it does not isolate the job from the machine. A job with an image runs in gVisor: the process
// is runsc, and its root is the image with the job's files above it. Jobs without an image run on local networks only.
// For a public cluster, and for every RPC endpoint that is not on this machine, [NewProcess] first runs a container to
// check that the machine isolates jobs. The runtime then refuses jobs without an image ([NotLocalError]).
//
// # Surviving the agent
//
// The agent does not start the job itself. It starts a small supervisor: its own binary, run again as "internal-run
// DIR" in a session of its own. The supervisor starts the job. So a kill -9 of the agent touches neither of them. The
// supervisor waits for the job and enforces its limits. It writes the exit to the lease's directory with a rename,
// where the next agent finds it.
//
//	DIR/spec.json    what to run; written before anything is started
//	DIR/lock         held (flock) by the supervisor as long as it lives
//	DIR/run.json     pids and their start times; present once the job may have run
//	DIR/stop.json    a request to stop, with its grace
//	DIR/wall.json    a new wall limit, when a lease was extended
//	DIR/filled.json  whether the state from which the job continues was restored; DIR/begin.json allows the job to run
//	DIR/suspend.json DIR/suspended.json   a request to suspend the job, and its result
//	DIR/exit.json    how it ended; its presence means that it is over
//	DIR/stdout.log DIR/stderr.log DIR/output.log (both together) DIR/supervisor.log
//	DIR/work         the job's working directory and home; with an image what it has written, and what the overlay needs
//	DIR/disk.img     with an image: the file system that is mounted at DIR/work for the container alone
//	DIR/volume.img   the file system of the job's volume, whose key is in the kernel alone; DIR/volume is where the container's
//	                 processes have it mounted
//	DIR/state.img    an encrypted file system for a container's state, only while it is suspended or resumed
//	DIR/container.json DIR/config.json DIR/rootfs DIR/runsc   with an image: what was pulled, the OCI configuration, where
//	                 the image is mounted, runsc's own state
//
// A job is started at most once. The supervisor takes the lock, refuses to start if run.json is there, and writes
// run.json before the job's first instruction. A pid counts only together with its start time from /proc. So a reused
// pid is never mistaken for the job, and never signalled.
//
// If the supervisor itself is killed, the kernel kills the job with it. The state is then [Lost]: the job is over, with
// an unknown exit.
//
// # Limits
//
// The runtime uses memory.max, cpu.max and pids.max where there is a writable cgroup v2 that offers these controllers.
// Where there is none, it limits:
//   - the number of CPUs by affinity;
//   - memory by RLIMIT_DATA for each process, and by a watch over the resident memory of the whole process tree;
//   - processes by RLIMIT_NPROC, which does not bind root, and by a watch over their number.
//
// The disk of a container is limited by a file system of its own, in a sparse file on a loop device. The kernel frees
// the loop device with its last user. Where there is no mkfs.ext4 or loop device, and for a process, a watch over the
// working directory limits the disk. For processes, RLIMIT_FSIZE limits each file too. The supervisor limits wall time.
// [Status].Limits lists which of these limits hold. The watches check four times a second, so a burst between two
// checks is not seen.
package runtime
