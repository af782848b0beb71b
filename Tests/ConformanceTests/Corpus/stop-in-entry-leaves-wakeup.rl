topic stop
title The wakeup of a stop in entry is left over for the next run
flags quirk
observer O all
source0 S
on O entry #1: stop
add O default; add S default
run default 1 no
run default 0.06 no
--- golden
run default
observer O entry mode=default
observer O exit mode=default
ran default STOPPED
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
--- right
run default
observer O entry mode=default
observer O exit mode=default
ran default STOPPED
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
