topic activities
title One-shot timer: waiting, callback right after after-waiting, then the mode is empty
observer O all
timer T delay=50
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
observer O exit mode=default
ran default FINISHED
end
