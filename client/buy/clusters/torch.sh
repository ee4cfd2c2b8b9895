# Starts the Python program in $1 with the interpreter that the image has; the other arguments are the program's.
program=$1
shift
for python in python3 python; do
  if command -v "$python" >/dev/null; then exec "$python" -c "$program" "$@"; fi
done
echo "gantry: the image has no Python" >&2
exit 127
