#!/bin/sh
# summaries.sh FOLDER [PROGRAM [MOST]]: what summaries cost with 8 to MOST ranks (1,024). FOLDER gets the recordings (700 MB
# for 1,024) and their summaries; recordings that are there already are used. Prints the rows of docs/performance.md:
# seconds by the clock, seconds of CPU, peak memory.
set -e
here=$(cd "$(dirname "$0")" && pwd)
# Names in a list are relative to the list, so all are absolute.
mkdir -p "$1"
folder=$(cd "$1" && pwd)
program=${2:-$here/../../build/release/stepscope}
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
most=${3:-1024}
[ -e "$folder/rank$((most - 1)).json.gz" ] || python3 "$here/make_ranks.py" "$folder" --ranks "$most" --seed 1
results=$folder/summaries
mkdir -p "$results/each"
measure() {
  /usr/bin/time -f "$1: %e s, CPU %U + %S s, %M KB" "$program" "$2" "$3" -o "$4" 2>&1 | grep -v '^wrote'
}
for ranks in $(printf '%s\n' 8 64 256 1024 "$most" | sort -n | uniq); do
  [ "$ranks" -le "$most" ] || continue
  seq 0 $((ranks - 1)) | sed "s#.*#$folder/rank&.json.gz#" >"$results/list$ranks"
  measure "summarize $ranks ranks" summarize "@$results/list$ranks" "$results/run$ranks.sss"
done
rm -f "$results"/each/*.sss # of a run with other ranks
seq 0 $((most - 1)) | xargs -P 2 -I{} "$program" summarize "$folder/rank{}.json.gz" -o "$results/each/rank{}.sss" 2>/dev/null
measure "merge $most files" merge "$results/each" "$results/merged.sss"
cmp "$results/merged.sss" "$results/run$most.sss"
ls -l "$results/each" | awk '{ sum += $5; if ($5 > most) most = $5 } END { print "a rank: " sum / (NR - 1) " bytes, at most " most }'
