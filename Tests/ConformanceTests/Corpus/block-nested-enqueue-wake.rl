topic block
title With a wake the next pass comes at once
observer O all
block B1
block B2
source0 K
on B1: perform B2 default; wake
on B2: stop
add O default; add K default; perform B1 default
run default 2 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
block B1 mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
block B2 mode=default
observer O exit mode=default
ran default STOPPED
end
