// Package runtime runs a customer's job on the node.
//
// [Runtime] is what the agent needs of any way to run jobs; [Process] is the one there is. A job without an image runs as an
// ordinary process in a working directory of its own. That limits what a job uses and keeps its environment clean, but it
// does not isolate the job from the machine. A job with an image runs in gVisor: the process is runsc, and the image with
// the job's files above it is its root. Jobs without an image run on local networks only: for a public cluster, and for every
// RPC endpoint that is not on this machine, [NewProcess] first runs a container to see that the machine isolates jobs, and the
// runtime refuses jobs without an image ([NotLocalError]).
//
// # Surviving the agent
//
// The agent does not start the job itself. It starts a small supervisor, its own binary run again as "internal-run
// DIR", in a session of its own, and the supervisor starts the job. So a kill -9 of the agent touches neither; the
// supervisor waits for the job, enforces its limits and writes the exit to the lease's directory with a rename, where
// the next agent finds it.
//
//	DIR/spec.json    what to run; written before anything is started
//	DIR/lock         held (flock) by the supervisor as long as it lives
//	DIR/run.json     pids and their start times; present once the job may have run
//	DIR/stop.json    a request to stop, with its grace
//	DIR/wall.json    a new wall limit, when a lease was extended
//	DIR/filled.json  what became of the restoring of what the job goes on from; DIR/begin.json says that it may run now
//	DIR/suspend.json DIR/suspended.json   a request to suspend the job, and what became of it
//	DIR/exit.json    how it ended; its presence means that it is over
//	DIR/stdout.log DIR/stderr.log DIR/output.log (both together) DIR/supervisor.log
//	DIR/work         the job's working directory and home; with an image what it has written, and what the overlay needs
//	DIR/disk.img     with an image: the file system that is mounted at DIR/work for the container alone
//	DIR/volume.img   the file system of the job's volume, whose key is in the kernel alone; DIR/volume is where the container's
//	                 processes have it mounted
//	DIR/state.img    an encrypted file system for the state of a container that is suspended or goes on, for so long
//	DIR/container.json DIR/config.json DIR/rootfs DIR/runsc   with an image: what was pulled, the OCI configuration, where
//	                 the image is mounted, runsc's own state
//
// A job is started at most once: the supervisor takes the lock, refuses to start if run.json is there, and writes it
// before the job's first instruction. A pid counts only together with its start time from /proc, so a reused pid is
// never mistaken for the job, and never signalled.
//
// If the supervisor itself is killed the kernel kills the job with it, and the state is [Lost]: over, with an unknown
// exit.
//
// # Limits
//
// With a writable cgroup v2 that offers the controllers: memory.max, cpu.max, pids.max. Without: the number of CPUs by
// affinity, memory by RLIMIT_DATA for each process and by a watch over the resident memory of the whole tree, processes by
// RLIMIT_NPROC, which does not bind root, and by a watch over their number. Disk of
// a container by a file system of its own, in a sparse file on a loop device that the kernel frees with its last user; of a
// process, and where there is no mkfs.ext4 or loop device, by a
// watch over the working directory and, for processes, by RLIMIT_FSIZE for each file; wall time by the supervisor. [Status].Limits says
// which of these hold. The watches check four times a second, so a burst between two checks is not seen.
package runtime
