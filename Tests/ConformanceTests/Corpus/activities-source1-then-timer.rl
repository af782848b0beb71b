topic activities
title Same as timer-then-source1, with the port ready first
slow 2
observer O all
source1 P
source1 Q
timer T delay=180
at 40: write Q
at 110: write P
on Q: busy 220
on T: stop
add O default; add T default; add P default; add Q default
run default 2 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
source1 Q mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
source1 P mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
timer T mode=default
observer O exit mode=default
ran default STOPPED
end
