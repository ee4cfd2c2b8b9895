#!/usr/bin/env bash
# What measurements cost who asks for them, and that no changed answer passes: writes docs/reports/measuring.md.
# usage: measure-report.sh [mutations|costs|write ...]   all of them by default; MUTATIONS is the number of changed answers, 1000000
source "$(dirname "$0")/common.sh"
"$root/scripts/toolchain.sh" go
cd "$root"
logs=$root/build/logs/measure
mkdir -p "$logs"
[ $# -gt 0 ] || set -- mutations costs write

# In pieces of 50,000 with seeds of their own, so that a run that is stopped has shown what it has done.
mutations() {
  local piece=50000 left=${MUTATIONS:-1000000}
  rm -f "$logs"/mutations-*.log
  go test -c -o build/measure.test ./attest/measure/processor
  for ((i = 1; left > 0; i++, left -= piece)); do
    (cd attest/measure/processor && GANTRY_EXHAUSTIVE=1 GANTRY_MUTATIONS=$((left < piece ? left : piece)) \
      "$root/build/measure.test" -test.run TestCheats/mutated -test.v -test.timeout 2h) >"$logs/mutations-$i.log" || die "an answer was taken: $logs/mutations-$i.log"
  done
}

costs() {
  go test -run '^$' -bench 'WorstInput|Cells|Steps|Paths|ColumnKeys' -benchtime 20x ./attest/measure >"$logs/worst.txt"
  go test -run WorstInput -v ./attest/measure >"$logs/worst-memory.txt"
  go test -run '^$' -bench Check -benchtime 50x ./sdk/measure >"$logs/check.txt"
  go test -run '^$' -bench Market -benchtime 1x -timeout 1h ./sdk/measure >"$logs/market.txt"
  { cut -d' ' -f1-3 /proc/loadavg; nproc; sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1; } >"$logs/machine.txt"
}

# value FILE LINE UNIT is a figure of a benchmark: the number before its unit.
value() { awk -v l="$2" -v u="$3" 'index($1, l) == 1 { for (i = 2; i < NF; i++) if ($(i + 1) == u) print $i }' "$logs/$1"; }

write() {
  local load cores cpu
  { read -r load; read -r cores; read -r cpu; } <"$logs/machine.txt"
  {
    cat <<EOF
# What measurements cost who asks, and what passes

Written by \`make measure-report\`. $cpu, $cores cores, load $load while costs were measured. Times are the process's own processor time (user and system). The format is in [measurement.md](../protocol/measurement.md).

## A keeper's check of one GPU
From the messages as they come to the figures: decoding, signature, roots, paths, cells, steps of walks. The run is a real one of 1,024 rows, since a processor makes it; paths and roots of a GPU's run are added below.

| order | processor time | on top: paths and roots of a GPU's run of 600 rounds | bytes |
| --- | ---: | ---: | ---: |
EOF
    local n answer root
    for n in 8192 16384; do
      answer=$(value worst.txt "BenchmarkPaths/n=$n" answer-B)
      root=$(value check.txt "BenchmarkCheck/n=$n" root-B)
      echo "| $n | $(value check.txt "BenchmarkCheck/n=$n" cpu-ms/op) ms | $(awk -v t="$(value worst.txt "BenchmarkPaths/n=$n" ns/op)" 'BEGIN { printf "%.2f", t / 1e6 }') ms | $((${answer%.*} + 600 * ${root%.*} + 600)) |"
    done
    cat <<EOF

Bytes are those of an answer, of 600 roots in messages of their own, and of the commitment, without the network's frames. Allowed are 60 ms of one core and 150 KB at the largest order. Keys of columns
are made once a period, for all nodes: $(awk -v t="$(value worst.txt BenchmarkColumnKeys ns/op)" 'BEGIN { printf "%.1f", t / 1e6 }') ms.

## The worst input
The answer has the largest profile that the format allows ($(value worst.txt BenchmarkWorstInput input-B) bytes with its 4,096 roots; 2²⁰ rows, lanes and walks). It is right but for the last step of the last walk, so the member computes everything. It takes **$(value worst.txt BenchmarkWorstInput cpu-ms/op) ms** of processor time,
and allocates **$(sed -n 's/.*the worst input took \([0-9]*\) KiB.*/\1/p' "$logs/worst-memory.txt" | head -1) KiB** of memory in total. Allowed are 50 ms and 16 MiB. Processors without AVX2 multiply 26 times slower.

## A market of 40,000 nodes
Each node of one GPU is measured hourly by seven members: 280,000 checks an hour. With 100 keepers, one measures 2,800 nodes at the same instant. All answers are there before the first is verified (\`heap\`), as at the end of a period's run.

| order | of one keeper, each hour: processor time | until the last is verified | received | heap | of the whole market: cores |
| --- | ---: | ---: | ---: | ---: | ---: |
EOF
    for n in 8192 16384; do
      local cpus
      cpus=$(value market.txt "BenchmarkMarket/n=$n" cpu-s)
      echo "| $n | $cpus s | $(value market.txt "BenchmarkMarket/n=$n" wall-s) s | $(value market.txt "BenchmarkMarket/n=$n" received-MiB) MiB | $(value market.txt "BenchmarkMarket/n=$n" heap-MiB) MiB | $(awk -v c="$cpus" 'BEGIN { printf "%.2f", c * 100 / 3600 }') |"
    done
    cat <<EOF

Received are the messages of the recorded run, whose paths are shorter than a GPU's; multiply by the bytes of the first table for a GPU's. Processor time is of both ends of an in-memory line.

## Changed answers
$(sed -n 's/.*: \([0-9]*\) mutated answers with seed.*/\1/p' "$logs"/mutations-*.log | awk '{ n += $1 } END { print n }') answers that no member may take, made of genuine ones by \`attest/measure/processor\` (\`TestCheats\`), judged as members judge: **none was taken**. Each was refused for a fault of the machine.

| change | refused |
| --- | ---: |
EOF
    cat "$logs"/mutations-*.log | sed -n 's/^ *mutation_test.go:[0-9]*: *\([0-9][0-9]*\) \([^:]*\): .*/\1|\2/p' | awk -F'|' '{ n[$2] += $1 } END { for (k in n) printf "| %s | %d |\n", k, n[k] }' | sort
  } >docs/reports/measuring.md
  say "wrote docs/reports/measuring.md"
}

for part in "$@"; do
  step "measure-report: $part"
  case $part in
  mutations | costs | write) "$part" ;;
  *) die "no part is called $part; there are mutations, costs and write" ;;
  esac
done
