topic source0
title A source signalling itself goes again in the next pass
observer O before-sources
source0 A
on A #1: signal A
add O default; add A default; signal A
run default 0.03 no
--- golden
run default
observer O before-sources mode=default
source0 A mode=default
observer O before-sources mode=default
source0 A mode=default
observer O before-sources mode=default
ran default TIMEDOUT
end
