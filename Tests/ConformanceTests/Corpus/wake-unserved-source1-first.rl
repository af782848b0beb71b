topic wake
title A wake and a port both pending: the wake takes no port's turn
flags quirk
slow 2
observer O before-sources
source0 S
source1 P
at 80: wake
at 140: write P
on S: busy 200
add O default; add S default; add P default; signal S
run default 0.3 no
--- golden
run default
observer O before-sources mode=default
source0 S mode=default
observer O before-sources mode=default
source1 P mode=default
observer O before-sources mode=default
ran default TIMEDOUT
end
--- right
run default
observer O before-sources mode=default
source0 S mode=default
source1 P mode=default
observer O before-sources mode=default
ran default TIMEDOUT
end
