# Runs Ray on one machine of a cluster: the head on node-0, a worker on each other machine.
# $1 are the head's flags of "ray start", $2 a worker's, $3 those of both.
#
# Ray ends on a worker that has lost the head. It then waits for the head and starts again. So a member that has another machine now
# joins without a word from the customer, and all join a head that has another machine.
if ! command -v ray >/dev/null; then
  echo "gantry: the image has no Ray: the command ray is not there" >&2
  exit 127
fi
if [ "$GANTRY_NODE_RANK" = 0 ]; then role=$1; else role=$2; fi
both=$3
set -- --node-ip-address="$GANTRY_NODE_IP" --num-gpus="${GANTRY_GPU_COUNT:-0}"
if [ -n "${GANTRY_CPUS:-}" ]; then set -- "$@" --num-cpus="$GANTRY_CPUS"; fi
python=
for name in python3 python; do
  if [ -z "$python" ] && command -v "$name" >/dev/null; then python=$name; fi
done

# Waits for the head's port, which costs little. "ray start" would load all of Ray for each try.
await_head() {
  if [ "$GANTRY_NODE_RANK" = 0 ] || [ -z "$python" ]; then return; fi
  "$python" -c '
import socket, sys, time
host, port = sys.argv[1].rsplit(":", 1)
while True:
    try:
        socket.create_connection((host, int(port)), 5).close()
        break
    except OSError:
        time.sleep(0.5)
' "${role#--address=}"
}

stopping=
trap 'stopping=1; kill -TERM "$child" 2>/dev/null' TERM INT
while [ -z "$stopping" ]; do
  # shellcheck disable=SC2086 # flags without spaces in them
  { await_head && exec ray start --block "$@" $role $both; } &
  child=$!
  if [ -n "$stopping" ]; then kill -TERM "$child"; fi
  wait "$child"
  status=$?
  if [ -n "$stopping" ]; then
    wait "$child" 2>/dev/null
    break
  fi
  echo "gantry: Ray has ended on node-$GANTRY_NODE_RANK with status $status, and starts again" >&2
  ray stop --force >/dev/null 2>&1
  sleep 1
done
