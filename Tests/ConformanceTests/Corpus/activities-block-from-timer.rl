topic activities
title A block queued in a timer callback runs in the same pass, after the timer
observer O all
timer T delay=50
block B
on T: perform B default
add O default; add T default
run default 2 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
timer T mode=default
block B mode=default
observer O exit mode=default
ran default FINISHED
end
