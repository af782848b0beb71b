topic empty
title source0 invalidates itself in its callback: FINISHED without waiting
observer O all
source0 S
on S: invalidate S
add O default; add S default; signal S
run default 2 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 S mode=default
observer O exit mode=default
ran default FINISHED
end
