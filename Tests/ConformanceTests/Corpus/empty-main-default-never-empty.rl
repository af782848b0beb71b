topic empty
title On the main thread a common mode is never empty, because of the main queue
thread main:
observer O all
add O default
run default 0.05 no
run other 0.05 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
run other
ran other FINISHED
end
