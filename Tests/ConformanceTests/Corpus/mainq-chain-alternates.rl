topic mainq
title A main-queue function that sends the next one: after serving the queue a pass goes through waiting first
thread main:
observer O before-waiting|after-waiting|before-sources
block M1
block M2
block M3
on M1: async M2
on M2: async M3
on M3: stop
add O default
async M1
run default 2 no
--- golden
run default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
mainq M1 mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
mainq M2 mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
mainq M3 mode=default
ran default STOPPED
end
