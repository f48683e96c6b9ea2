#!/bin/sh
# A plugin in plain shell: init, call and result are all it takes.
# Values are taken out of the JSON with sed, which is enough for ids and simple strings.

field() { printf '%s' "$line" | sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p"; }
quoted() { sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/ /g' | awk '{ printf "%s\\n", $0 }'; }

while IFS= read -r line; do
  case "$(field type)" in
    init)
      printf '%s\n' '{"type":"init","tools":[{"name":"disk_free","description":"How full the file system is that holds a folder.","parameters":{"type":"object","properties":{"path":{"type":"string","description":"A folder."}},"required":["path"]}}]}'
      ;;
    call)
      if text=$(df -h -- "$(field path)" 2>&1); then failed=false; else failed=true; fi
      printf '{"type":"result","call_id":"%s","content":[{"type":"text","text":"%s"}],"is_error":%s}\n' \
        "$(field call_id)" "$(printf '%s\n' "$text" | quoted)" "$failed"
      ;;
  esac
done
