#!/bin/sh
# run.sh NAME SECONDS: fuzzes NAME_fuzzer with tests/data/NAME or the damaged cases as seeds; findings go to build/fuzz/NAME.
# The timeout is by the clock on the wall, and niced runs stand still now and then: hence two minutes.
set -e
cd "$(dirname "$0")/.."
folder=build/fuzz/$1
mkdir -p "$folder/corpus" "$folder/seeds"
if [ "$1" = snapshot ]; then
  cp tests/data/memory/C* tests/data/memory/hostile/* "$folder/seeds/"
elif [ -d "tests/data/$1" ]; then
  cp "tests/data/$1"/* "$folder/seeds/"
else
  cp tests/data/cases/*.json "$folder/seeds/"
  for file in tests/data/cases/*.gz; do
    gzip -dc "$file" >"$folder/seeds/$(basename "$file" .gz)" 2>/dev/null || cp "$file" "$folder/seeds/"
  done
fi
dict=fuzz/$1.dict
[ -f "$dict" ] || dict=fuzz/chrome_json.dict
exec nice -n 19 build/fuzz/fuzz/"$1"_fuzzer -max_total_time="$2" -max_len=8192 -timeout=120 -rss_limit_mb=2000 \
  -dict="$dict" -artifact_prefix="$folder/" -print_final_stats=1 "$folder/corpus" "$folder/seeds"
