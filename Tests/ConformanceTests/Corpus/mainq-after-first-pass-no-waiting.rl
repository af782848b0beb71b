topic mainq
title From the second pass on a waiting main-queue function is served before waiting (step 5)
thread main:
observer O all
block M
timer T delay=30
on T: async M
on M: stop
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
observer O before-timers mode=default
observer O before-sources mode=default
mainq M mode=default
observer O exit mode=default
ran default STOPPED
end
