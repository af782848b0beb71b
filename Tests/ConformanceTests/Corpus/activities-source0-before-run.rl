topic activities
title source0 signalled before the run is performed without waiting; the following pass waits
observer O all
source0 S
add O default; add S default; signal S
run default 0.06 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 S mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
