#!/bin/sh
# summaries.sh FOLDER [PROGRAM]: what summaries cost with 8 to 1,024 ranks. FOLDER gets the recordings (700 MB) and their
# summaries; recordings that are there already are used. Prints the rows of docs/performance.md: seconds by the clock, seconds
# of CPU, peak memory.
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
program=${2:-$here/../../build/release/stepscope}
[ -e "$folder/rank1023.json.gz" ] || python3 "$here/make_ranks.py" "$folder" --ranks 1024 --seed 1
results=$folder/summaries
mkdir -p "$results/each"
measure() {
  /usr/bin/time -f "$1: %e s, CPU %U + %S s, %M KB" "$program" "$2" "$3" -o "$4" 2>&1 | grep -v '^wrote'
}
for ranks in 8 64 256 1024; do
  seq 0 $((ranks - 1)) | sed "s#.*#$folder/rank&.json.gz#" >"$results/list$ranks"
  measure "summarize $ranks ranks" summarize "@$results/list$ranks" "$results/run$ranks.sss"
done
seq 0 1023 | xargs -P 2 -I{} "$program" summarize "$folder/rank{}.json.gz" -o "$results/each/rank{}.sss" 2>/dev/null
measure "merge 1024 files" merge "$results/each" "$results/merged.sss"
cmp "$results/merged.sss" "$results/run1024.sss"
ls -l "$results/each" | awk '{ sum += $5; if ($5 > most) most = $5 } END { print "a rank: " sum / (NR - 1) " bytes, at most " most }'
