topic perform
title A perform that another thread posts as a source ends a run that returns after a source
thread A:
source1 P
observer O all
block K
add P default ; add O default
at 60 : performsource K default
run default 1 yes stamp
--- right
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
block K mode=default
observer O exit mode=default
ran default HANDLED at=50
end
