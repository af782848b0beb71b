topic source0
title Without returnAfterHandled all signalled sources are performed in one pass
observer O before-sources
source0 A order=1
source0 B order=2
add O default; add A default; add B default
signal B; signal A
run default 0.03 no
--- golden
run default
observer O before-sources mode=default
source0 A mode=default
source0 B mode=default
observer O before-sources mode=default
ran default TIMEDOUT
end
