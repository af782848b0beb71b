topic activities
title source1 wakes the loop by itself
slow 2
observer O all
source1 P
at 50: write P
on P: stop
add O default; add P default
run default 2 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
source1 P mode=default
observer O exit mode=default
ran default STOPPED
end
