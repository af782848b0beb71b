topic empty
title The last item is removed in the entry observer: the loop still waits once, until something wakes it
slow 2
observer O all
source0 S
at 60: wake
on O entry: remove S default
add O default; add S default
run default 1 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default FINISHED
end
