topic block
title Blocks queued by a source0 callback run in the same pass, right after the sources
observer O before-sources
source0 S1 order=1
source0 S2 order=2
block B
on S1: perform B default
add O default; add S1 default; add S2 default; signal S1; signal S2
run default 0.02 no
--- golden
run default
observer O before-sources mode=default
source0 S1 mode=default
source0 S2 mode=default
block B mode=default
observer O before-sources mode=default
ran default TIMEDOUT
end
